import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packageRoot } from '../../gateway/config/package.ts';
import { strictAjv } from '../../gateway/spec/strict-ajv.ts';
import { startAnvil, type Anvil } from '../support/anvil.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';
import { readSources } from '../../schemas/read-sources.ts';
import { readConversation } from './conversation.ts';
import { nodeCalls } from './node-calls.ts';

type JsonObject = Record<string, unknown>;

const schemas = JSON.parse(readFileSync(join(packageRoot, 'schemas/generated/results.json'), 'utf8')) as JsonObject;
const unknown = `0x${'ab'.repeat(32)}`;

let anvil: Anvil;
let gateway: TestGateway;
/** Number of the block with three transactions. */
let number: string;

beforeAll(async () => {
  anvil = await startAnvil();
  gateway = await startGateway({ local: network(1337, [anvil.url]) });
  number = ((await result('eth_getBlockByHash', [anvil.chain.blockHash, false])) as { number: string }).number;
});
afterAll(async () => {
  await gateway.stop();
  await anvil.stop();
});

async function result(method: string, params: unknown[]): Promise<unknown> {
  const { result: given, error } = await gateway.call('local', method, params);
  if (error !== undefined) throw new Error(`${method} ${JSON.stringify(params)}: ${JSON.stringify(error)}`);
  return given;
}

const methods = readSources(join(packageRoot, 'schemas')).methods.map(({ name, params, 'x-gatehouse': notes }) => ({
  name,
  params,
  answer: notes?.answer,
}));

/** Method and parameters of each exchange, without requests that the gateway rejects. */
function exchangesIn(folder: string): [method: string, params: unknown[]][] {
  return readdirSync(folder)
    .flatMap((file) => readConversation(readFileSync(join(folder, file), 'utf8')))
    .filter(({ response }) => !response.includes('invalid params'))
    .map(({ request }) => JSON.parse(request) as { method: string; params?: unknown[] })
    .map(({ method, params = [] }) => [method, params]);
}

describe('on a real node', () => {
  it('the result of every method matches its schema', async () => {
    const ajv = strictAjv();
    for (const [method, params, validity] of nodeCalls(anvil.chain, number)) {
      const given = await result(method, params);
      const where = `${method} ${JSON.stringify(params)}`;
      const fits = ajv.compile(schemas[method] as object);
      expect.soft(fits(given), `${where}: ${ajv.errorsText(fits.errors)}`).toBe(true);
      if (typeof validity === 'object') expect.soft(given, where).toMatchObject(validity as object);
      else expect.soft(given, where).toBe(validity);
    }
  });

  it('every method that is no filter or subscription is called, with the fewest and with the most parameters', () => {
    const calls = [...nodeCalls(anvil.chain, number), ...exchangesIn(join(packageRoot, 'test/cases'))];
    const tested = methods.filter(({ answer }) => answer === undefined || answer === 'local');
    const missing = tested.flatMap(({ name, params }) => {
      const counts = calls.flatMap(([method, given]) => (method === name ? [given.length] : []));
      const required = params.filter((param) => param.required).length;
      return [...new Set([required, params.length])].flatMap((count) =>
        counts.includes(count) ? [] : [`${name}: add test/cases/${name}.io with a request of ${count} parameters`],
      );
    });
    expect(missing).toEqual([]);
  });

  it.each([
    ['eth_getBlockByNumber', ['0xffffff', false]],
    ['eth_getBlockReceipts', ['0xffffff']],
    ['eth_getBlockReceipts', [unknown]],
    ['eth_getTransactionByBlockHashAndIndex', [unknown, '0x0']],
    ['eth_getTransactionByBlockNumberAndIndex', ['0xffffff', '0x0']],
    ['eth_getTransactionByBlockNumberAndIndex', ['latest', '0x9']],
    ['eth_getBlockTransactionCountByHash', [unknown]],
    ['eth_getUncleByBlockNumberAndIndex', ['latest', '0x0']],
    ['eth_getUncleCountByBlockHash', [unknown]],
    ['eth_getUncleCountByBlockNumber', ['0xffffff']],
  ])('%s %j is null', async (method, params) => {
    expect(await result(method, params)).toBeNull();
  });

  it.each(['eth_call', 'eth_createAccessList', 'eth_estimateGas'])('a revert of %s is code 3', async (method) => {
    const { caller, gate } = anvil.chain;
    const { error } = await gateway.call('local', method, [{ from: caller, to: gate.address, data: gate.calls.open }]);
    expect(error).toMatchObject({ code: 3, message: 'execution reverted: the gate is closed' });
    expect(error?.data).toMatch(/^0x08c379a0/);
  });

  it.each(['eth_sendTransaction', 'eth_sign', 'eth_signTransaction', 'rpc.describe', 'debug_traceBlock'])(
    '%s is not served',
    async (method) => {
      expect((await gateway.call('local', method)).error).toEqual({
        code: -32601,
        message: `The method ${method} does not exist/is not available`,
      });
    },
  );
});
