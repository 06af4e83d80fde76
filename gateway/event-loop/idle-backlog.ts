import type { Server } from 'node:net';
import { clock } from '../clock/clock.ts';

const TURNS_MAX = 1_000;

/** Waits until no connection is in the backlog. Those that are there when listening ends are reset. */
export async function waitForIdleBacklog(server: Server): Promise<void> {
  let hasAccepted = true;
  const onConnection = (): void => void (hasAccepted = true);
  server.on('connection', onConnection);
  for (let turns = 0; hasAccepted && turns < TURNS_MAX; turns++) {
    hasAccepted = false;
    await clock.nextTurn();
  }
  server.off('connection', onConnection);
}
