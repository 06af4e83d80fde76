import { isDeepStrictEqual } from 'node:util';
import { onTestFinished } from 'vitest';
import { rpcError, startFakeNode } from '../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';

/**
 * One exchange of a `.io` file, in the format of the official Ethereum JSON-RPC test suite: a comment, `>> ` with the
 * caller's request, and `<< ` with the response. The files of this project may have two lines between: `-> ` with the
 * request to the node, and `<- ` with the node's response. Without them, both are equal to the caller's.
 */
export interface Exchange {
  readonly title: string;
  readonly request: string;
  readonly toNode: string;
  readonly fromNode: string;
  readonly response: string;
}

export function readConversation(text: string): Exchange[] {
  const exchanges: Exchange[] = [];
  let title = '';
  let lines: Partial<Record<string, string>> = {};
  for (const line of text.split('\n').filter((each) => each.trim() !== '')) {
    const [, mark = '', rest = ''] = /^(\/\/|>>|->|<-|<<) (.*)$/.exec(line) ?? [];
    if (mark === '') throw new Error(`not a line of a conversation: ${line}`);
    if (mark === '//') title = rest.startsWith('spec') ? title : rest;
    else lines[mark] = rest;
    if (mark !== '<<') continue;
    const { '>>': request } = lines;
    if (request === undefined || title === '') throw new Error(`no comment or no request before: ${line}`);
    exchanges.push({ title, request, toNode: lines['->'] ?? request, fromNode: lines['<-'] ?? rest, response: rest });
    lines = {};
  }
  return exchanges;
}

/** The gateway's own request for the gas limit, and its default response. */
const look = { params: ['latest', false], head: { number: '0x36', gasLimit: '0xbebc200' } };

interface Message {
  readonly method: string;
  readonly params?: unknown;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

/** A gateway with a node that returns the responses of these conversations, and fails on any other request. */
export async function gatewayFor(exchanges: readonly Exchange[], chainId: number): Promise<TestGateway> {
  const script = exchanges.map(({ toNode, fromNode }) => ({
    requested: JSON.parse(toNode) as Message,
    responded: JSON.parse(fromNode) as Message,
  }));
  const node = await startFakeNode({ chainId });
  for (const method of new Set(script.map(({ requested }) => requested.method))) {
    if (method === 'eth_chainId') continue;
    node.response(method, (params: unknown) => {
      const found = script.find(
        ({ requested }) => requested.method === method && isDeepStrictEqual(requested.params ?? [], params),
      );
      if (found === undefined && method === 'eth_getBlockByNumber' && isDeepStrictEqual(params, look.params))
        return look.head;
      if (found === undefined) return rpcError(-32_098, `not of the conversation: ${JSON.stringify(params)}`);
      const { error, result } = found.responded;
      return error === undefined ? result : rpcError(error.code, error.message, error.data);
    });
  }
  const methods = ['eth', 'net', 'web3', 'rpc', 'zks', 'linea'];
  const gateway = await startGateway({ chain: network(chainId, [node.url], { methods }) });
  onTestFinished(async () => {
    await gateway.stop();
    await node.close();
  });
  return gateway;
}

/** Sends the request unchanged, and returns the response unchanged. */
export async function responseTo(gateway: TestGateway, { request }: Exchange): Promise<string> {
  return (await gateway.post('chain', request)).text();
}
