import { setTimeout as sleep } from 'node:timers/promises';

/**
 * A pause that is part of the scenario: the latency of a node, or the time between two actions of a client.
 * To wait for something, use `eventually`. To show that something does not happen, use `staysTrueFor`.
 */
export async function scenarioPause(ms: number): Promise<void> {
  await sleep(ms);
}
