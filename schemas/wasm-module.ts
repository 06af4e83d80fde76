import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { main } from 'assemblyscript/asc';
import { packageRoot } from '../gateway/config/package.ts';

const SOURCE = 'wasm/value-end.ts';
/** One page of memory, which is the caller's: the code has no data of its own. */
const options = [
  '-O3',
  '--converge',
  '--noAssert',
  '--runtime',
  'stub',
  '--initialMemory',
  '1',
  '--maximumMemory',
  '1',
];

/** The module with the WebAssembly of wasm/value-end.ts: with SIMD, and for the processors that have none. */
export async function wasmModule(): Promise<string> {
  return `// Generated from ${SOURCE} by \`npm run generate\`. Do not edit.
export const withSimd =
  '${await compile(['--enable', 'simd'])}';
export const withoutSimd =
  '${await compile([])}';
`;
}

/** The code as base64. @throws if the source has an error */
async function compile(features: readonly string[]): Promise<string> {
  let code = '';
  let problems = '';
  const { error } = await main([SOURCE, ...options, ...features, '--outFile', 'code.wasm'], {
    readFile: (name) => (name === SOURCE ? readFileSync(join(packageRoot, name), 'utf8') : null),
    writeFile: (_, contents) => {
      code = Buffer.from(contents).toString('base64');
    },
    listFiles: () => [],
    stderr: {
      write: (text: string) => {
        problems += text;
      },
    },
  });
  if (error !== null) throw new Error(problems);
  return code;
}
