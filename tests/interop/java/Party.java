/*
 * The party of Java: the interface of arena.py, with these locks.
 *
 *     jedis-article    the lock of the article "利用redis实现分布式锁" rewritten with Jedis
 *     jedis-lock       the published package, of which that lock is a copy
 *     redisson         RLock, whose value is a hash
 *     redisson-fenced  RFencedLock, which has fences
 *     redisson-kept    RLock without a lease: its watchdog renews it
 *     redisson-fair, redisson-spin, redisson-read, redisson-write   other locks with the same key
 *
 * More commands: "again" acquires a held lock once more, "count" prints how often it is held, "fence" its fence.
 */
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

public final class Party {
    static final int PATIENCE_MS = 60_000;
    static final int GIVE_UP_MAX = 3;
    static final int REST_MS = Integer.parseInt(System.getenv("REST_MS"));
    static final int PAUSE_MS = Integer.parseInt(System.getenv("PAUSE_MS"));

    interface Lock {
        boolean acquire(int waitMs) throws Exception;

        /** released or lost */
        String release() throws Exception;

        default int count() {
            throw new UnsupportedOperationException();
        }

        default long fence() {
            throw new UnsupportedOperationException();
        }

        default int stolen() {
            return 0;
        }

        default void end() {
        }
    }

    /** The counts of a party, printed as one line of JSON. */
    static final class Tally {
        int acquired;
        int overlaps;
        int lost;
        int gaveUp;
        int errors;
        String note = "";

        String line(String who, int stolen) {
            return String.format("{\"who\": \"%s\", \"acquired\": %d, \"overlaps\": %d, \"lost\": %d, \"gave_up\": %d, "
                    + "\"errors\": %d, \"stolen\": %d, \"note\": \"%s\"}",
                    who, acquired, overlaps, lost, gaveUp, errors, stolen, note);
        }
    }

    /** Java has no flock(2): witness.py calls it. */
    static final class Witness {
        private final Process helper;
        private final BufferedReader answers;
        private final PrintWriter orders;

        Witness(String path, String who) throws IOException {
            helper = new ProcessBuilder(System.getenv("WITNESS_PYTHON"), System.getenv("WITNESS_HELPER"), path, who)
                    .redirectError(ProcessBuilder.Redirect.INHERIT).start();
            answers = helper.inputReader();
            orders = new PrintWriter(helper.outputWriter(), true);
        }

        /** True if no other party was inside. */
        boolean work() throws Exception {
            orders.println("in");
            boolean alone = answers.readLine().equals("alone");
            nap(4);
            orders.println("out");
            answers.readLine();
            return alone;
        }
    }

    private final Lock lock;
    private final Witness witness;
    private final String who;

    Party(Lock lock, Witness witness, String who) {
        this.lock = lock;
        this.witness = witness;
        this.who = who;
    }

    static void nap(int mostMs) throws InterruptedException {
        TimeUnit.MICROSECONDS.sleep(ThreadLocalRandom.current().nextInt(mostMs * 1000));
    }

    static String plain(Throwable error) {
        return String.valueOf(error).replaceAll("[\"\\\\\n\r]", " ");
    }

    String contend(int count) throws InterruptedException {
        Tally tally = new Tally();
        while (tally.acquired < count && tally.gaveUp + tally.errors < GIVE_UP_MAX) {
            try {
                if (!lock.acquire(PATIENCE_MS)) {
                    tally.gaveUp++;
                    continue;
                }
                tally.acquired++;
                tally.overlaps += witness.work() ? 0 : 1;
                tally.lost += lock.release().equals("lost") ? 1 : 0;
            } catch (Exception error) {
                tally.errors++;
                tally.note = tally.note.isEmpty() ? plain(error) : tally.note;
            }
            nap(REST_MS);
        }
        return tally.line(who, lock.stolen());
    }

    String execute(String line) throws InterruptedException {
        String[] words = line.split(" ");
        try {
            return switch (words[0]) {
                case "acquire" -> lock.acquire(Integer.parseInt(words[1])) ? "held" : "busy";
                case "release" -> lock.release();
                case "again" -> lock.acquire(0) ? "held" : "busy";
                case "count" -> String.valueOf(lock.count());
                case "fence" -> String.valueOf(lock.fence());
                default -> contend(Integer.parseInt(words[1]));
            };
        } catch (Exception error) {
            return "error " + plain(error);
        }
    }

    static Lock lockOf(String algorithm, String host, int port, String key, int leaseMs) {
        return switch (algorithm) {
            case "jedis-article" -> new JedisArticle(host, port, key, leaseMs);
            case "jedis-lock" -> new JedisPackage(host, port, key, leaseMs);
            case "redisson", "redisson-fenced", "redisson-fair", "redisson-spin", "redisson-read", "redisson-write" -> new RedissonLock(algorithm, host, port, key, leaseMs);
            case "redisson-kept" -> new RedissonLock(algorithm, host, port, key, -1);
            default -> throw new IllegalArgumentException(algorithm);
        };
    }

    public static void main(String[] args) throws Exception {
        Lock lock = lockOf(args[0], args[1], Integer.parseInt(args[2]), args[3], Integer.parseInt(args[4]));
        Party party = new Party(lock, new Witness(args[5], args[6]), args[6]);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            System.out.println(party.execute(line));
        }
        lock.end();
        System.exit(0);
    }
}
