/*
 * Redisson's RLock. Its value is a hash; where it finds a string, its script fails, and that is an answer too: somebody
 * holds the key who is none of its own. So the error is counted, and it tries again.
 */
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.client.RedisException;
import org.redisson.config.Config;

final class RedissonLock implements Party.Lock {
    private final RedissonClient client;
    private final RLock lock;
    private final int leaseMs;
    private int errors;

    RedissonLock(String host, int port, String key, int leaseMs) {
        Config config = new Config().setThreads(2).setNettyThreads(2);
        config.useSingleServer().setAddress("redis://" + host + ":" + port).setConnectionMinimumIdleSize(1)
                .setConnectionPoolSize(2).setSubscriptionConnectionMinimumIdleSize(1).setSubscriptionConnectionPoolSize(2)
                .setRetryAttempts(0);
        this.client = Redisson.create(config);
        this.lock = client.getLock(key);
        this.leaseMs = leaseMs;
    }

    @Override
    public boolean acquire(int waitMs) throws InterruptedException {
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(waitMs);
        do {
            try {
                if (lock.tryLock(Math.min(waitMs, 100), leaseMs, TimeUnit.MILLISECONDS)) {
                    return true;
                }
            } catch (RedisException error) {
                if (!String.valueOf(error).contains("WRONGTYPE")) {
                    throw error;
                }
                errors++;
            }
            if (waitMs > 0) {
                Thread.sleep(Party.PAUSE_MS);
            }
        } while (System.nanoTime() < end);
        return false;
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

    /** Here: how often it met a value that is not its own. */
    @Override
    public int stolen() {
        return errors;
    }

    @Override
    public void end() {
        client.shutdown();
    }
}
