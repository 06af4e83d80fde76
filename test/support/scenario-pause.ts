import { clock } from '../../gateway/clock/clock.ts';

/**
 * A pause that is part of the scenario: the latency of a node, or the time between two actions of a client.
 * It is time of the gateway, so that its order with the gateway's deadlines does not depend on the load of the machine.
 * To wait for something, use `eventually`. To show that something does not happen, use `staysTrueFor`.
 */
export async function scenarioPause(ms: number): Promise<void> {
  await clock.sleep(ms);
}
