import { appendFileSync, readFileSync } from 'node:fs';
import { register } from 'node:module';
import { performance } from 'node:perf_hooks';
import { plants } from './plants.ts';

/*
 * Starts Gatehouse for the fuzzer: node dist/test/fuzz/gateway-program.js start. It records the blocks of its event loop in
 * the file FUZZ_BLOCKS. FUZZ_PLANT names a defect that is put into one module as it is loaded. The product has neither.
 */

const INTERVAL_MS = 10;
/** Shorter blocks are not recorded. */
const MIN_BLOCK_MS = 50;

const { FUZZ_PLANT: plantName, FUZZ_BLOCKS: file } = process.env;
if (plantName !== undefined) {
  const plant = plants.find(({ name }) => name === plantName);
  if (plant === undefined) throw new Error(`no planted defect ${plantName}`);
  const hooks = `export async function load(url, context, next) {
    const module = await next(url, context);
    if (!url.endsWith(${JSON.stringify(plant.module)})) return module;
    const source = String(module.source);
    const [find, put] = ${JSON.stringify([plant.find, plant.put])};
    if (source.split(find).length !== 2) throw new Error('the module has no place for the planted defect');
    return { ...module, source: source.replace(find, () => put) };
  }`;
  register(`data:text/javascript,${encodeURIComponent(hooks)}`);
}
if (file !== undefined) recordBlocks(file);
await import(new URL('../../gateway/main.js', import.meta.url).href);

/** Blocks of the main thread's own CPU time: what other programs of this machine took is not counted. */
function recordBlocks(path: string): void {
  let [at, cpu] = [performance.now(), mainThreadMs()];
  setInterval(() => {
    const [now, cpuNow] = [performance.now(), mainThreadMs()];
    const blockMs = Math.min(now - at - INTERVAL_MS, cpuNow - cpu);
    if (blockMs >= MIN_BLOCK_MS) appendFileSync(path, `${Date.now()} ${Math.round(blockMs)}\n`);
    [at, cpu] = [now, cpuNow];
  }, INTERVAL_MS).unref();
}

/** CPU time of the main thread; where Linux does not tell it, the time of the clock. */
function mainThreadMs(): number {
  try {
    return Number(readFileSync('/proc/self/schedstat', 'utf8').split(' ')[0]) / 1e6;
  } catch {
    return performance.now();
  }
}
