/*
 * The package jedis-lock 1.0.0. It pauses for 100 ms between two attempts. Its release has no result: the key is
 * checked here.
 */
import com.github.jedis.lock.JedisLock;
import redis.clients.jedis.Jedis;

final class JedisPackage implements Party.Lock {
    private final Jedis jedis;
    private final String key;
    private final int leaseMs;
    private JedisLock lock;

    JedisPackage(String host, int port, String key, int leaseMs) {
        this.jedis = new Jedis(host, port);
        this.key = key;
        this.leaseMs = leaseMs;
    }

    @Override
    public boolean acquire(int waitMs) throws InterruptedException {
        lock = new JedisLock(jedis, key, waitMs, leaseMs);
        return lock.acquire();
    }

    @Override
    public String release() {
        boolean exists = jedis.exists(key);
        lock.release();
        return exists ? "released" : "lost";
    }
}
