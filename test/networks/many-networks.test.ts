import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { packageRoot } from '../../gateway/config/package.ts';
import { network } from '../support/gateway.ts';

const NETWORKS = 20;

/** Prints the bytes of a gateway with one network, and of one with 20 more. */
const program = `
  import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
  import { tmpdir } from 'node:os';
  import { join } from 'node:path';
  import { openLog } from './dist/gateway/config/log.js';
  import { readSettings } from './dist/gateway/config/settings.js';
  import { openGateway } from './dist/gateway/server/app.js';

  const text = process.argv[1];
  const bytes = () => {
    // Buffers are counted as free when the next collection begins.
    for (let count = 0; count < 2; count++) gc();
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };
  const open = async (count) => {
    const folder = mkdtempSync(join(tmpdir(), 'gatehouse-many-'));
    for (let index = 0; index < count; index++) writeFileSync(join(folder, 'network-' + index + '.yaml'), text);
    const env = { PORT: '0', NETWORKS_DIR: folder, DATA_DIR: join(folder, 'data'), LOG_LEVEL: 'silent' };
    const gateway = await openGateway(readSettings(env), env, openLog('silent'));
    return async () => {
      await gateway.drain();
      rmSync(folder, { recursive: true });
    };
  };
  // Allocates what all gateways share.
  await (await open(1))();
  const before = bytes();
  const stopFew = await open(1);
  const withOne = bytes() - before;
  const stopMany = await open(1 + Number(process.argv[2]));
  const withMany = bytes() - before - withOne;
  await Promise.all([stopFew(), stopMany()]);
  console.log(JSON.stringify([withOne, withMany]));
  process.exit();`;

it('an unused network takes less than half a megabyte', () => {
  // A process of its own: in that of the tests, memory of others comes and goes. Node 20 runs the compiled gateway.
  const args = ['--expose-gc', '--input-type=module', '-e', program];
  const text = JSON.stringify(network(5, ['http://127.0.0.1:9']));
  const printed = execFileSync(process.execPath, [...args, text, String(NETWORKS)], {
    cwd: packageRoot,
    encoding: 'utf8',
  });
  const [withOne = NaN, withMany = NaN] = JSON.parse(printed) as number[];
  const each = (withMany - withOne) / NETWORKS;
  expect(each).toBeGreaterThan(0);
  expect(each).toBeLessThan(500_000);
});
