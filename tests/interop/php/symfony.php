<?php
/*
 * The lock of Symfony over its RedisStore: the library itself, from the directory in SYMFONY_LOCK (lock/ is the
 * component, psr/ is Psr\Log).
 *
 * More commands: "read" (acquireRead), "wait" (a blocking acquire, as the library waits),
 * "refresh", "acquired" (isAcquired) and "left" (milliseconds, getRemainingLifetime).
 */
declare(strict_types=1);

use Symfony\Component\Lock\Exception\LockConflictedException;
use Symfony\Component\Lock\Key;
use Symfony\Component\Lock\Store\RedisStore;

spl_autoload_register(function (string $class): void {
    foreach (['Symfony\\Component\\Lock\\' => 'lock', 'Psr\\Log\\' => 'psr'] as $prefix => $directory) {
        if (str_starts_with($class, $prefix)) {
            $file = str_replace('\\', '/', substr($class, strlen($prefix)));
            require getenv('SYMFONY_LOCK') . "/$directory/$file.php";
        }
    }
});

class Symfony extends Lock
{
    private \Symfony\Component\Lock\Lock $lock;

    public function __construct(Redis $redis, string $key, int $leaseMs)
    {
        parent::__construct($redis, $key, $leaseMs);
        $ttl = $leaseMs / 1000;
        $this->lock = new \Symfony\Component\Lock\Lock(new Key($key), new RedisStore($redis, $ttl), $ttl, false);
    }

    public function try(): bool
    {
        return $this->lock->acquire();
    }

    public function release(): string
    {
        $was = $this->lock->isAcquired();
        $this->lock->release();
        return $was ? 'released' : 'lost';
    }

    public function answer(array $words): string
    {
        try {
            return match ($words[0]) {
                'read' => $this->lock->acquireRead() ? 'held' : 'busy',
                'wait' => $this->lock->acquire(true) ? 'held' : 'busy',
                'refresh' => $this->refreshed(),
                'acquired' => $this->lock->isAcquired() ? 'yes' : 'no',
                'left' => (string) (int) ($this->lock->getRemainingLifetime() * 1000),
            };
        } catch (LockConflictedException) {
            return 'conflict';
        }
    }

    private function refreshed(): string
    {
        $this->lock->refresh();
        return 'refreshed';
    }
}
