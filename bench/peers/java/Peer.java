/*
 * The driver of Redisson: the contract of ../README.md, on RLock, RFairLock and RFencedLock.
 *
 *     java Peer RLock|RFairLock|RFencedLock HOST PORT NAME
 *
 * Every waiter of a crowd is a thread. They share one client, as Redisson asks for: it knows its holders by thread, and
 * subscribes once for all of them. Its pools are large enough that no thread waits for a connection.
 */
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

public final class Peer {
    private static final int STACK_SIZE = 256 * 1024;

    private final RLock lock;
    private int crowd;

    Peer(RLock lock) {
        this.lock = lock;
    }

    String pair(int count) {
        StringBuilder said = new StringBuilder("pair");
        for (int i = 0; i < count; i++) {
            long began = System.nanoTime();
            lock.lock();
            lock.unlock();
            said.append(' ').append(System.nanoTime() - began);
        }
        return said.toString();
    }

    private List<String> contendAlone(int who, long end, long holdUs) throws InterruptedException {
        List<String> turns = new ArrayList<>();
        do {
            lock.lock();
            long began = System.nanoTime();
            if (holdUs > 0) {
                TimeUnit.MICROSECONDS.sleep(holdUs);
            }
            long ended = System.nanoTime();
            lock.unlock();
            turns.add(who + " " + began + " " + ended + "\n");
        } while (System.nanoTime() < end);
        return turns;
    }

    /** What each thread gives, or the first thing that went wrong. */
    private static <T> List<T> inThreads(List<Callable<T>> tasks) throws Exception {
        List<T> results = new ArrayList<>();
        List<Exception> errors = new ArrayList<>();
        List<Thread> threads = new ArrayList<>();
        for (Callable<T> task : tasks) {
            Thread thread = new Thread(null, () -> {
                try {
                    T result = task.call();
                    synchronized (results) {
                        results.add(result);
                    }
                } catch (Exception error) {
                    synchronized (results) {
                        errors.add(error);
                    }
                }
            }, "waiter", STACK_SIZE);
            threads.add(thread);
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        if (!errors.isEmpty()) {
            throw errors.get(0);
        }
        return results;
    }

    String contend(int ms, long holdUs, String path) throws Exception {
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(ms);
        List<Callable<List<String>>> tasks = new ArrayList<>();
        for (int i = 0; i < crowd; i++) {
            int who = i;
            tasks.add(() -> contendAlone(who, end, holdUs));
        }
        StringBuilder all = new StringBuilder();
        int count = 0;
        for (List<String> turns : inThreads(tasks)) {
            turns.forEach(all::append);
            count += turns.size();
        }
        Files.writeString(Path.of(path), all);
        return "done " + count;
    }

    String obey(String line) throws Exception {
        String[] words = line.split(" ");
        switch (words[0]) {
            case "pair":
                return pair(Integer.parseInt(words[1]));
            case "acquire":
                lock.lock();
                return "held " + System.nanoTime();
            case "release":
                long began = System.nanoTime();
                lock.unlock();
                return "released " + began;
            case "crowd":
                crowd = Integer.parseInt(words[1]);
                return "crowd " + crowd;
            case "contend":
                return contend(Integer.parseInt(words[1]), Long.parseLong(words[2]), words[3]);
            default:
                return "error not a line of the contract";
        }
    }

    static RLock lockOf(RedissonClient client, String which, String name) {
        return switch (which) {
            case "RLock" -> client.getLock(name);
            case "RFairLock" -> client.getFairLock(name);
            case "RFencedLock" -> client.getFencedLock(name);
            default -> throw new IllegalArgumentException(which);
        };
    }

    public static void main(String[] args) throws IOException {
        Config config = new Config();
        config.useSingleServer().setAddress("redis://" + args[1] + ":" + args[2]).setConnectionMinimumIdleSize(1)
                .setSubscriptionConnectionMinimumIdleSize(1).setSubscriptionsPerConnection(100)
                .setSubscriptionTimeout(60_000);
        RedissonClient client = Redisson.create(config);
        Peer peer = new Peer(lockOf(client, args[0], args[3]));
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String said;
            try {
                said = peer.obey(line);
            } catch (Exception error) {
                said = "error " + String.valueOf(error).replace('\n', ' ');
            }
            System.out.println(said);
        }
        System.exit(0);
    }
}
