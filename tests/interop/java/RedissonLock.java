/*
 * RLock or RFencedLock of Redisson. Its value is a hash. If it finds a string, its script fails, which means that another
 * program has the key: this class counts the error and tries again. Otherwise Redisson waits by itself, until a release is
 * published on its channel or its time is over.
 */
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.client.RedisException;
import org.redisson.config.Config;

final class RedissonLock implements Party.Lock {
    private final RedissonClient client;
    private final RLock lock;
    private final int leaseMs;
    private int errors;

    RedissonLock(String algorithm, String host, int port, String key, int leaseMs) {
        Config config = new Config().setThreads(2).setNettyThreads(2);
        config.useSingleServer().setAddress("redis://" + host + ":" + port).setConnectionMinimumIdleSize(1)
                .setConnectionPoolSize(2).setSubscriptionConnectionMinimumIdleSize(1).setSubscriptionConnectionPoolSize(2)
                .setRetryAttempts(0);
        this.client = Redisson.create(config);
        this.lock = switch (algorithm) {
            case "redisson-fenced" -> client.getFencedLock(key);
            case "redisson-fair" -> client.getFairLock(key);
            case "redisson-spin" -> client.getSpinLock(key);
            case "redisson-read" -> client.getReadWriteLock(key).readLock();
            case "redisson-write" -> client.getReadWriteLock(key).writeLock();
            default -> client.getLock(key);
        };
        this.leaseMs = leaseMs;
    }

    @Override
    public boolean acquire(int waitMs) throws InterruptedException {
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(waitMs);
        do {
            try {
                if (lock.tryLock(Math.max(0, left(end)), leaseMs, TimeUnit.MILLISECONDS)) {
                    return true;
                }
            } catch (RedisException error) {
                if (!String.valueOf(error).contains("WRONGTYPE")) {
                    throw error;
                }
                errors++;
                if (waitMs > 0) {
                    Thread.sleep(Party.PAUSE_MS);
                }
            }
        } while (left(end) > 0);
        return false;
    }

    private static long left(long end) {
        return TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime());
    }

    @Override
    public int count() {
        return lock.getHoldCount();
    }

    @Override
    public long fence() {
        return ((RFencedLock) lock).getToken();
    }

    @Override
    public String release() {
        try {
            lock.unlock();
            return "released";
        } catch (IllegalMonitorStateException error) {
            return "lost";
        }
    }

    /** Here: how often it found a value of another type. */
    @Override
    public int stolen() {
        return errors;
    }

    @Override
    public void end() {
        client.shutdown();
    }
}
