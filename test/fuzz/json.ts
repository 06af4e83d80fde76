import { parseArgs } from 'node:util';
import { differenceIn, endDifferenceIn, randomJson } from '../json/fuzz-json.ts';
import { Random } from './random.ts';

/*
 * npm run test:all -- fuzz-json [--seed N] [--inputs M]
 *
 * Compares the reader of JSON bytes with JSON.parse, and the end of a value that WebAssembly finds with that of tokens.
 */

const { values } = parseArgs({
  options: { seed: { type: 'string', default: '1' }, inputs: { type: 'string', default: '2000000' } },
});
const random = new Random(values.seed);
const MAX_FINDINGS = 10;

let findings = 0;
let inputs = 0;
let bytes = 0;
for (; inputs < Number(values.inputs) && findings < MAX_FINDINGS; inputs++) {
  const input = randomJson(random);
  bytes += input.length;
  const difference = differenceIn(input) ?? endDifferenceIn(input, random);
  if (difference === undefined) continue;
  findings++;
  console.log(`input ${inputs}: ${difference}: ${JSON.stringify(input.toString('latin1'))}`);
}
console.log(`seed ${values.seed}: ${inputs} inputs of ${bytes} bytes, ${findings} findings`);
process.exitCode = findings > 0 ? 1 : 0;
