import { attacks } from '../attacks/attacks.ts';
import type { Target } from '../attacks/attack.ts';
import { Traffic } from './traffic.ts';

/*
 * The process of one attacker: node dist/test/abuse/processes/attacker.js <number of the attack>. The first message is the
 * target, the second requests the report. It ends with the test that started it.
 */

const attack = attacks[Number(process.argv[2])];
if (attack === undefined) throw new Error(`no attack ${process.argv[2] ?? ''}`);
const traffic = new Traffic();
process.once('message', (target: Target) => {
  process.once('message', () => process.send?.(traffic.report()));
  attack.start(target, traffic);
  process.send?.('started');
});
process.once('disconnect', () => process.exit());
