/*
 * The parties that share locks with Redisson or with Curator: the contract of ../README.md, "Shared locks".
 *
 *     java Sharer redisson HOST:PORT LEASE_MS
 *     java Sharer curator HOST:PORT SESSION_MS
 *     java Sharer zookeeper                      a server for Curator: prints its address, ends with its input
 *
 * A party is CLIENT/THREAD: a thread of its own, as both libraries know their holders by thread, and a client that it
 * shares with the parties of the same CLIENT.
 */
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMultiLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.retry.RetryOneTime;
import org.apache.curator.test.InstanceSpec;
import org.apache.curator.test.TestingServer;
import org.apache.zookeeper.CreateMode;
import org.redisson.Redisson;
import org.redisson.api.RBucket;
import org.redisson.api.RLock;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RReadWriteLock;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;

public final class Sharer {
    private static final TimeUnit MS = TimeUnit.MILLISECONDS;

    /** What gives a hold back. */
    interface Release {
        void run() throws Exception;
    }

    /** The locks of one party. */
    interface Locks {
        /** waitMs -1: without a limit; leaseMs 0: renewed. Null: not within waitMs. */
        Release lock(String mode, String name, long waitMs, long leaseMs) throws Exception;

        Release permits(int count, int limit, String name, long waitMs, long leaseMs) throws Exception;

        Release all(List<String> names, boolean meets) throws Exception;

        /** How many holds the last all() has given back. */
        default int givenBack() {
            return 0;
        }

        /** A pair without a lock: one write that fails if the key exists, and its removal. */
        void plain(String name) throws Exception;

        /** The entries that a lock has in the store. */
        int count(String name) throws Exception;
    }

    private static final CountDownLatch MET = new CountDownLatch(2);

    /** The lock, and what a lock of several does with it. The first that a party gets is held until another party has one. */
    static <T> T observed(Class<T> type, T lock, boolean[] isFirst, AtomicInteger givenBack) {
        InvocationHandler observer = (self, method, arguments) -> {
            if (method.getName().matches("unlock.*|release")) {
                givenBack.incrementAndGet();
            }
            Object result;
            try {
                result = method.invoke(lock, arguments);
            } catch (InvocationTargetException error) {
                throw error.getCause();
            }
            if (isFirst[0] && method.getName().matches("tryLock|acquire") && !Boolean.FALSE.equals(result)) {
                isFirst[0] = false;
                MET.countDown();
                MET.await();
            }
            return result;
        };
        return type.cast(Proxy.newProxyInstance(Sharer.class.getClassLoader(), new Class<?>[] {type}, observer));
    }

    static final class RedissonLocks implements Locks {
        private final RedissonClient client;
        private final AtomicInteger givenBack = new AtomicInteger();

        RedissonLocks(RedissonClient client) {
            this.client = client;
        }

        static RedissonClient open(String address, long leaseMs) {
            Config config = new Config();
            config.setLockWatchdogTimeout(leaseMs);
            config.setCodec(StringCodec.INSTANCE);
            config.useSingleServer().setAddress("redis://" + address).setConnectionMinimumIdleSize(1);
            return Redisson.create(config);
        }

        @Override
        public Release lock(String mode, String name, long waitMs, long leaseMs) throws Exception {
            RReadWriteLock both = client.getReadWriteLock(name);
            RLock lock = mode.equals("read") ? both.readLock() : mode.equals("write") ? both.writeLock() : client.getLock(name);
            if (waitMs < 0 && leaseMs == 0) {
                lock.lock();
            } else if (waitMs < 0) {
                lock.lock(leaseMs, MS);
            } else if (!lock.tryLock(waitMs, leaseMs == 0 ? -1 : leaseMs, MS)) {
                return null;
            }
            return lock::unlock;
        }

        @Override
        public Release permits(int count, int limit, String name, long waitMs, long leaseMs) throws Exception {
            if (leaseMs == 0) {
                RSemaphore plain = client.getSemaphore(name);
                plain.trySetPermits(limit);
                plain.acquire(count);
                return () -> plain.release(count);
            }
            RPermitExpirableSemaphore semaphore = client.getPermitExpirableSemaphore(name);
            semaphore.trySetPermits(limit);
            long wait = waitMs < 0 ? TimeUnit.DAYS.toMillis(1) : waitMs;
            if (count == 1) {
                String id = semaphore.tryAcquire(wait, leaseMs, MS);
                return id == null ? null : () -> semaphore.release(id);
            }
            List<String> ids = semaphore.tryAcquire(count, wait, leaseMs, MS);
            return ids.isEmpty() ? null : () -> semaphore.release(ids);
        }

        @Override
        public Release all(List<String> names, boolean meets) {
            givenBack.set(0);
            boolean[] isFirst = {meets};
            RLock lock = client.getMultiLock(names.stream()
                .map(name -> observed(RLock.class, client.getLock(name), isFirst, givenBack)).toArray(RLock[]::new));
            lock.lock();
            return lock::unlock;
        }

        @Override
        public int givenBack() {
            return givenBack.get();
        }

        @Override
        public void plain(String name) {
            RBucket<String> bucket = client.getBucket(name);
            bucket.setIfAbsent("value", Duration.ofSeconds(30));
            bucket.delete();
        }

        @Override
        public int count(String name) {
            throw new UnsupportedOperationException("see the keys of the server");
        }
    }

    static final class CuratorLocks implements Locks {
        private final CuratorFramework client;
        private final Map<String, InterProcessReadWriteLock> known = new HashMap<>();

        CuratorLocks(CuratorFramework client) {
            this.client = client;
        }

        static CuratorFramework open(String address, int sessionMs) throws InterruptedException {
            CuratorFramework client = CuratorFrameworkFactory.newClient(address, sessionMs, 10000, new RetryOneTime(100));
            client.start();
            client.blockUntilConnected();
            return client;
        }

        @Override
        public Release lock(String mode, String name, long waitMs, long leaseMs) throws Exception {
            InterProcessReadWriteLock both = known.computeIfAbsent(name, key -> new InterProcessReadWriteLock(client, "/" + key));
            InterProcessLock lock = mode.equals("read") ? both.readLock() : both.writeLock();
            if (waitMs < 0) {
                lock.acquire();
            } else if (!lock.acquire(waitMs, MS)) {
                return null;
            }
            return lock::release;
        }

        @Override
        public Release permits(int count, int limit, String name, long waitMs, long leaseMs) throws Exception {
            InterProcessSemaphoreV2 semaphore = new InterProcessSemaphoreV2(client, "/" + name, limit);
            Collection<Lease> leases = waitMs < 0 ? semaphore.acquire(count) : semaphore.acquire(count, waitMs, MS);
            return leases == null ? null : () -> semaphore.returnAll(leases);
        }

        @Override
        public Release all(List<String> names, boolean meets) throws Exception {
            boolean[] isFirst = {meets};
            InterProcessLock lock = new InterProcessMultiLock(names.stream()
                .map(name -> observed(InterProcessLock.class, new InterProcessMutex(client, "/" + name), isFirst, new AtomicInteger())).toList());
            lock.acquire();
            return lock::release;
        }

        @Override
        public void plain(String name) throws Exception {
            String path = client.create().withMode(CreateMode.EPHEMERAL).forPath("/" + name);
            client.delete().forPath(path);
        }

        @Override
        public int count(String name) throws Exception {
            return client.getChildren().forPath("/" + name).size();
        }
    }

    /** Carries out the commands of one party, one after the other. */
    static final class Party implements Runnable {
        final BlockingQueue<String> commands = new LinkedBlockingQueue<>();
        final Thread thread;
        private final String name;
        private final Locks locks;
        private final Deque<Release> holds = new ArrayDeque<>();

        Party(String name, Locks locks) {
            this.name = name;
            this.locks = locks;
            this.thread = new Thread(this, name);
            thread.setDaemon(true);
            thread.start();
        }

        @Override
        public void run() {
            while (true) {
                String answer;
                try {
                    answer = answer(commands.take().split(" "));
                } catch (Exception error) {
                    answer = "error " + String.valueOf(error).replaceAll("\\s+", " ");
                }
                say(name + " " + answer);
            }
        }

        private Release take(String mode, String lock, long waitMs, long leaseMs) throws Exception {
            String[] permits = mode.split("/");
            return permits.length == 1
                ? locks.lock(mode, lock, waitMs, leaseMs)
                : locks.permits(Integer.parseInt(permits[0]), Integer.parseInt(permits[1]), lock, waitMs, leaseMs);
        }

        private String held(Release hold) {
            if (hold == null) {
                return "busy";
            }
            holds.push(hold);
            return "held";
        }

        private String answer(String[] words) throws Exception {
            switch (words[0]) {
                case "take":
                    return held(take(words[1], words[2], Long.parseLong(words[3]), Long.parseLong(words[4])));
                case "all":
                    return held(locks.all(List.of(words).subList(1, words.length), true)) + " " + locks.givenBack();
                case "upgrade":
                    return held(locks.lock("write", words[1], -1, 0));
                case "downgrade":
                    Release exclusive = holds.pop();
                    holds.push(locks.lock("read", words[1], -1, 0));
                    exclusive.run();
                    return "held";
                case "release":
                    holds.pop().run();
                    return "released";
                case "count":
                    return "count " + locks.count(words[1]);
                case "pairs":
                    return pairs(words[1], words[2], Integer.parseInt(words[3]));
                default:
                    return "error no command " + words[0];
            }
        }

        private String pairs(String mode, String lock, int count) throws Exception {
            List<String> eight = new ArrayList<>();
            for (int i = 0; i < 8; i++) {
                eight.add(lock + i);
            }
            long began = System.nanoTime();
            for (int i = 0; i < count; i++) {
                if (mode.equals("plain")) {
                    locks.plain(lock);
                } else {
                    (mode.equals("all") ? locks.all(eight, false) : take(mode, lock, -1, mode.contains("/") ? 30000 : 0)).run();
                }
            }
            return "pairs " + (System.nanoTime() - began);
        }

        /** Asleep in the wait of a library, and not in that for an answer of the server. */
        boolean isWaiting() {
            Thread.State state = thread.getState();
            for (StackTraceElement frame : thread.getStackTrace()) {
                String called = frame.getClassName();
                if (called.equals("java.util.concurrent.Semaphore") || called.endsWith(".LockInternals") || called.endsWith(".InterProcessSemaphoreV2")) {
                    return state == Thread.State.WAITING || state == Thread.State.TIMED_WAITING;
                }
                if (called.startsWith("org.apache.zookeeper.")) {
                    return false;
                }
            }
            return false;
        }
    }

    static synchronized void say(String line) {
        System.out.println(line);
        System.out.flush();
    }

    private static Locks locksOf(String library, Object client) {
        return library.equals("redisson") ? new RedissonLocks((RedissonClient) client) : new CuratorLocks((CuratorFramework) client);
    }

    private static void serve(String library, String address, int ms, BufferedReader input) throws IOException, InterruptedException {
        Map<String, Object> clients = new HashMap<>();
        Map<String, Party> parties = new HashMap<>();
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] words = line.split(" ", 2);
            String client = words[0].split("/")[0];
            if (!clients.containsKey(client)) {
                clients.put(client, library.equals("redisson") ? RedissonLocks.open(address, ms) : CuratorLocks.open(address, ms));
            }
            Party party = parties.computeIfAbsent(words[0], name -> new Party(name, locksOf(library, clients.get(client))));
            if (words[1].equals("waiting")) {
                say(words[0] + " waiting " + party.isWaiting());
            } else {
                party.commands.add(words[1]);
            }
        }
    }

    public static void main(String[] words) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        if (words[0].equals("zookeeper")) {
            TestingServer server = new TestingServer(new InstanceSpec(null, -1, -1, -1, true, -1, 500, -1), true);
            say(server.getConnectString());
            while (input.readLine() != null) {
                continue;
            }
            server.close();
        } else {
            serve(words[0], words[1], Integer.parseInt(words[2]), input);
        }
        System.exit(0);
    }
}
