/*
 * The package jedis-lock 1.0.0. It pauses for a tenth of a second between two tries, and says nothing when it gives
 * back: whether the key was there is looked at here.
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
        boolean there = jedis.exists(key);
        lock.release();
        return there ? "released" : "lost";
    }
}
