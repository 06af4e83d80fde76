import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { defineConfig } from 'rolldown';

/** What a gateway loads in part or by name (`gateway/config/load-package.ts`). */
const external = [/^undici(\/|$)/, 'ioredis', 'pino-pretty', '@photostructure/sqlite'];
// The development chain is not in images.
if (!existsSync('local-chain')) external.push(/local-chain\/local-chain\.ts$/);

/**
 * The gateway and most of its packages in 20 files: a start takes 0.76 s of CPU, and 1.9 s with the 1,100 modules (Node 20,
 * medians of 3, busy machine, 2026-11-29). `start` and `doctor` are chunks that are loaded at first use. Types are checked
 * apart, by `npm run types`.
 */
export default defineConfig({
  input: { main: 'gateway/main.ts' },
  platform: 'node',
  external,
  logLevel: 'silent',
  output: { dir: 'dist/bundle', cleanDir: true, format: 'esm', chunkFileNames: '[name]-[hash].js', sourcemap: true },
  plugins: [
    {
      name: 'notices',
      generateBundle(_, bundle) {
        const modules = Object.values(bundle).flatMap(({ moduleIds = [] }) => moduleIds);
        const folders = modules.map((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0]);
        const notices = [...new Set(folders)].filter((folder) => folder !== undefined).map(noticeOf);
        this.emitFile({ type: 'asset', fileName: 'NOTICES.txt', source: notices.toSorted().join('\n') });
      },
    },
  ],
});

/** Name, version and licence of a package that is part of the bundle. */
function noticeOf(folder) {
  const { name, version, license } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'));
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  const text = file === undefined ? '' : `${readFileSync(`${folder}/${file}`, 'utf8').trim()}\n`;
  return `${name} ${version} (${license})\n${text}`;
}
