import { createMPT } from '@ethereumjs/mpt';
import { RLP } from '@ethereumjs/rlp';
import { expect, it } from 'vitest';
import { OwnedSteps } from '../../../gateway/event-loop/owned-steps.ts';
import { TurnBudget } from '../../../gateway/event-loop/turn-budget.ts';
import { toHex } from '../../../gateway/verify/proofs/hex.ts';
import { rootOf } from '../../../gateway/verify/proofs/tree.ts';

/** Values of all lengths around those at which a node is in its parent. */
const values = Array.from({ length: 600 }, (_, index) => Buffer.alloc((index * 7) % 45, index + 1));

it.each([
  ['short and long values', values],
  ['values of one byte', values.map((_, index) => Buffer.of((index % 255) + 1))],
  ['long values', values.map((_, index) => Buffer.alloc(300, index))],
])('the root of a list of %s is that of a library, for each length', async (_, list) => {
  const nonEmpty = list.map((value) => (value.length === 0 ? Buffer.of(1) : value));
  const tree = await createMPT();
  const [own, library]: [string[], string[]] = [[], []];
  const lengths = new Set([0, 1, 2, 16, 17, 127, 128, 129, 130, 144, 145, 255, 256, 257, 258, 272, 273, 512, 600]);
  for (let length = 0; length <= list.length; length++) {
    if (lengths.has(length)) {
      own.push(await rootOf(nonEmpty.slice(0, length), new OwnedSteps('test', new TurnBudget())));
      library.push(toHex(tree.root()));
    }
    const next = nonEmpty[length];
    if (next !== undefined) await tree.put(RLP.encode(length), next);
  }
  expect(own).toEqual(library);
});
