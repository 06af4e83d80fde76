import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { startFakeNode } from '../support/fake-node.ts';
import { startGateway, type JsonRpcResponse } from '../support/gateway.ts';

const token = 'correct-horse-battery';

interface Started {
  /** `<method> <hint>` of each log line about a method that is not served, without the folder. */
  readonly hints: readonly string[];
  /** Calls a method with a key on the main port. */
  readonly call: (method: string) => Promise<JsonRpcResponse>;
  /** Calls a method on the ops port. @returns the message of the error, without the folder */
  readonly messageForOperators: (method: string) => Promise<string>;
}

/** @param lines of the network file, before `upstreams` */
async function start(lines: readonly string[], env: Record<string, string> = {}): Promise<Started> {
  const node = await startFakeNode({ chainId: 5 });
  const hints: string[] = [];
  const withoutFolder = (text: string): string => text.replace(/\S*gatehouse-test-\w+\//, '');
  const write = (line: string): void => {
    const { method, hint } = JSON.parse(line) as { method?: string; hint?: string };
    if (hint !== undefined) hints.push(withoutFolder(`${method ?? ''} ${hint}`));
  };
  const yaml = [...lines, 'upstreams:', '  - name: one', `    url: ${node.url}`].join('\n');
  const gateway = await startGateway(
    { base: yaml },
    { OPS_PORT: '0', ADMIN_TOKEN: token, ...env },
    pino({}, { write }),
  );
  onTestFinished(async () => {
    await gateway.stop();
    await node.close();
  });
  return {
    hints,
    call: (method) => gateway.call('base', method),
    messageForOperators: async (method) => {
      const response = await fetch(`http://127.0.0.1:${gateway.gateway.opsPort ?? 0}/admin/explain/base`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}` },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: [] }),
      });
      const { answer } = (await response.json()) as { answer: JsonRpcResponse };
      return withoutFolder(answer.error?.message ?? '');
    },
  };
}

const standard = 'The method debug_traceCall does not exist/is not available';

it('an operator gets the line that would open a method, a caller the standard message', async () => {
  const { call, messageForOperators, hints } = await start(['name: Base', 'chainId: 5', 'methods: [eth]']);
  expect((await call('debug_traceCall')).error).toEqual({ code: -32601, message: standard });
  expect(await messageForOperators('debug_traceCall')).toBe(
    `${standard}: base.yaml:3:10 add debug_traceCall to methods`,
  );
  expect(hints).toEqual(['debug_traceCall base.yaml:3:10 add debug_traceCall to methods']);
});

it('without methods in the file, the position is its first line, and the list has the default', async () => {
  const { messageForOperators } = await start(['', 'name: Base', 'chainId: 5']);
  expect(await messageForOperators('debug_traceCall')).toBe(
    `${standard}: base.yaml:2:1 add methods: [eth, net, web3, rpc, debug_traceCall]`,
  );
});

it('an exception is named, because a name does not open what a minus removes', async () => {
  const methods = "methods: [eth, 'debug_*', -debug_trace*, -eth_getProof, net, -net]";
  const { messageForOperators } = await start(['name: Base', 'chainId: 5', methods]);
  expect(await messageForOperators('debug_traceCall')).toBe(
    `${standard}: base.yaml:3:27 remove -debug_trace* from methods`,
  );
  expect(await messageForOperators('eth_getProof')).toMatch(/: base\.yaml:3:42 remove -eth_getProof from methods$/);
  expect(await messageForOperators('net_version')).toMatch(/: base\.yaml:3:62 remove -net from methods$/);
  expect(await messageForOperators('web3_sha3')).toMatch(/: base\.yaml:3:10 add web3_sha3 to methods$/);
});

it('a development method needs development: true, but its name in production', async () => {
  const file = ['name: Base', 'development: false', 'chainId: 5'];
  const { messageForOperators } = await start(file);
  expect(await messageForOperators('evm_mine')).toMatch(/: base\.yaml:2:14 development: true would open it$/);
  expect(await messageForOperators('eth_sign')).toMatch(/: base\.yaml:2:14 development: true would open it$/);
  const production = await start(file, { NODE_ENV: 'production' });
  expect(await production.messageForOperators('evm_mine')).toMatch(
    /: base\.yaml:1:1 add methods: \[eth, net, web3, rpc, evm_mine\]$/,
  );
});

it('a method is logged once; other texts and more than 50 methods are not', async () => {
  const { call, hints } = await start(['name: Base', 'chainId: 5']);
  for (const method of ['debug_one', 'debug_one', 'a\nb', 'x'.repeat(62)]) await call(method);
  expect(hints).toHaveLength(1);
  for (let number = 0; number < 60; number++) await call(`debug_${number}`);
  expect(hints).toHaveLength(50);
});
