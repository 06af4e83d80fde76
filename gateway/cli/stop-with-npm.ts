import { clock } from '../clock/clock.ts';

const CHECK_INTERVAL_MS = 500;

/**
 * Sends this process SIGTERM when the shell in which npm runs it has ended: npm passes signals to that shell only, which
 * ends without passing them on.
 */
export function stopWithNpm(env: Readonly<Record<string, string | undefined>>): void {
  if (env['npm_lifecycle_event'] === undefined) return;
  const parent = process.ppid;
  const timer = clock
    .setInterval(() => {
      if (process.ppid === parent) return;
      clock.clearInterval(timer);
      process.kill(process.pid, 'SIGTERM');
    }, CHECK_INTERVAL_MS)
    .unref();
}
