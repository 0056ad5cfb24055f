<?php
/*
 * The party of PHP: the interface of arena.py, with the locks of locks.php and symfony.php.
 */
declare(strict_types=1);

require __DIR__ . '/locks.php';
require __DIR__ . '/symfony.php';

const PATIENCE_MS = 60000;
const GIVE_UP_MAX = 3;

[, $algorithm, $host, $port, $key, $leaseMs, $witnessPath, $who] = $argv;
$redis = new Redis();
$redis->connect($host, (int) $port);
$lock = new (LOCKS[$algorithm] ?? Symfony::class)($redis, $key, (int) $leaseMs);
$witness = fopen($witnessPath, 'a');

function acquire(Lock $lock, int $waitMs): string
{
    $end = hrtime(true) + $waitMs * 1000000;
    do {
        if ($lock->try()) {
            return 'held';
        }
        if ($waitMs > 0) {
            usleep((int) getenv('PAUSE_MS') * 1000);
        }
    } while (hrtime(true) < $end);
    return 'busy';
}

/** True if no other party was inside. */
function work(mixed $witness, string $who): bool
{
    $alone = flock($witness, LOCK_EX | LOCK_NB);
    fwrite($witness, "in $who\n");
    usleep(random_int(0, 4000));
    fwrite($witness, "out $who\n");
    if ($alone) {
        flock($witness, LOCK_UN);
    }
    return $alone;
}

function contend(Lock $lock, int $count, mixed $witness, string $who): array
{
    $tally = ['who' => $who, 'acquired' => 0, 'overlaps' => 0, 'lost' => 0, 'gave_up' => 0, 'errors' => 0,
        'stolen' => 0, 'note' => ''];
    while ($tally['acquired'] < $count && $tally['gave_up'] + $tally['errors'] < GIVE_UP_MAX) {
        try {
            if (acquire($lock, PATIENCE_MS) !== 'held') {
                $tally['gave_up']++;
                continue;
            }
            $tally['acquired']++;
            $tally['overlaps'] += work($witness, $who) ? 0 : 1;
            $tally['lost'] += $lock->release() === 'lost' ? 1 : 0;
        } catch (Throwable $error) {
            $tally['errors']++;
            $tally['note'] = $tally['note'] ?: $error->getMessage();
        }
        usleep(random_int(0, (int) getenv('REST_MS') * 1000));
    }
    $tally['stolen'] = $lock->stolen;
    return $tally;
}

function execute(string $line, Lock $lock, mixed $witness, string $who): string
{
    $words = explode(' ', trim($line));
    try {
        return match ($words[0]) {
            'acquire' => acquire($lock, (int) $words[1]),
            'release' => $lock->release(),
            'contend' => json_encode(contend($lock, (int) $words[1], $witness, $who)),
            default => $lock->answer($words),
        };
    } catch (Throwable $error) {
        return 'error ' . $error->getMessage();
    }
}

echo "ready\n";
while (($line = fgets(STDIN)) !== false) {
    echo execute($line, $lock, $witness, $who), "\n";
}
