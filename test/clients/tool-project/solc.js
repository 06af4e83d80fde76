// The compiler from npm, for forge, with the two options of the native compiler that forge uses.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';

const solc = createRequire(import.meta.url)('solc');
const text = process.argv.includes('--standard-json')
  ? solc.compile(readFileSync(0, 'utf8'))
  : `solc, the solidity compiler commandline interface\nVersion: ${solc.version()}\n`;
process.stdout.write(text);
