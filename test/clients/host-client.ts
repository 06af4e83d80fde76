import { JsonRpcProvider, FetchRequest, WebSocketProvider, type JsonRpcApiProvider } from 'ethers';
import { createPublicClient, http, webSocket, type Hex } from 'viem';
import { HttpProvider, Web3, WebSocketProvider as Web3SocketProvider } from 'web3';
import { WebSocket } from 'ws';
import type { Stop } from './client.ts';

/** Settings of a client for its provider, as Infura's documents show them. */
export interface HostSettings {
  /** `https://mainnet.infura.io`: the only part that changes. */
  readonly host: string;
  readonly key: string;
  /** Sent as the password of Basic authentication with an empty user. */
  readonly secret?: string | undefined;
  /** A JSON Web Token, for `Authorization: Bearer`. */
  readonly token?: string | undefined;
  readonly origin?: string | undefined;
  readonly userAgent?: string | undefined;
}

/** A client that is written for Infura's documents. It rejects with the library's own error. */
export interface HostClient {
  readonly name: string;
  balance(settings: HostSettings, address: string): Promise<bigint>;
  /** Subscribes to heads and to the logs of an address over WebSocket. `seen` gets `head` and `log`. */
  watch(settings: HostSettings, address: string, seen: (what: 'head' | 'log') => void): Promise<Stop>;
}

const httpUrl = ({ host, key }: HostSettings): string => `${host}/v3/${key}`;
const wsUrl = ({ host, key }: HostSettings): string => `${host.replace('http', 'ws')}/ws/v3/${key}`;

function headersOf({ secret, token, origin, userAgent }: HostSettings): Record<string, string> {
  return {
    ...(secret !== undefined && { authorization: `Basic ${Buffer.from(`:${secret}`).toString('base64')}` }),
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...(origin !== undefined && { origin }),
    ...(userAgent !== undefined && { 'user-agent': userAgent }),
  };
}

const ethers: HostClient = {
  name: 'ethers',
  async balance(settings, address) {
    const request = new FetchRequest(httpUrl(settings));
    for (const [name, value] of Object.entries(headersOf(settings))) request.setHeader(name, value);
    // Otherwise each 429 is repeated for minutes.
    request.setThrottleParams({ maxAttempts: 1 });
    const provider: JsonRpcApiProvider = new JsonRpcProvider(request, 1337, { staticNetwork: true });
    return provider.getBalance(address).finally(() => {
      provider.destroy();
    });
  },
  async watch(settings, address, seen) {
    const socket = new WebSocket(wsUrl(settings), { headers: headersOf(settings) });
    const provider = new WebSocketProvider(socket as never, 1337, { staticNetwork: true });
    await provider.on('block', () => {
      seen('head');
    });
    await provider.on({ address }, () => {
      seen('log');
    });
    return () => provider.destroy();
  },
};

const viem: HostClient = {
  name: 'viem',
  balance(settings, address) {
    const transport = http(httpUrl(settings), { fetchOptions: { headers: headersOf(settings) }, retryCount: 0 });
    return createPublicClient({ transport }).getBalance({ address: address as Hex });
  },
  async watch(settings, address, seen) {
    // viem has no headers for WebSocket. The secret may stand in the URL.
    const { secret } = settings;
    const url = wsUrl(settings).replace('//', secret === undefined ? '//' : `//:${secret}@`);
    const client = createPublicClient({ transport: webSocket(url, { reconnect: false }) });
    client.watchBlocks({
      onBlock: () => {
        seen('head');
      },
    });
    client.watchEvent({
      address: address as Hex,
      onLogs: () => {
        seen('log');
      },
    });
    const { getRpcClient } = client.transport as unknown as { getRpcClient(): Promise<{ close(): void }> };
    const connection = await getRpcClient();
    return () => {
      connection.close();
    };
  },
};

const web3: HostClient = {
  name: 'web3.js',
  balance(settings, address) {
    const providerOptions = { headers: headersOf(settings) };
    return new Web3(new HttpProvider(httpUrl(settings), { providerOptions })).eth.getBalance(address);
  },
  async watch(settings, address, seen) {
    const provider = new Web3SocketProvider(
      wsUrl(settings),
      { headers: headersOf(settings) },
      { autoReconnect: false },
    );
    const client = new Web3(provider);
    const heads = await client.eth.subscribe('newBlockHeaders');
    heads.on('data', () => {
      seen('head');
    });
    const logs = await client.eth.subscribe('logs', { address });
    logs.on('data', () => {
      seen('log');
    });
    return () => {
      provider.disconnect();
    };
  },
};

/** The error of a response, with its status. */
export class ResponseError extends Error {
  readonly status: number;
  readonly body: unknown;

  constructor(status: number, body: unknown) {
    super(JSON.stringify(body));
    this.status = status;
    this.body = body;
  }
}

const raw: HostClient = {
  name: 'fetch and ws',
  async balance(settings, address) {
    const response = await fetch(httpUrl(settings), {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headersOf(settings) },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getBalance', params: [address, 'latest'] }),
    });
    const body = (await response.json()) as { result?: string };
    if (body.result === undefined) throw new ResponseError(response.status, body);
    return BigInt(body.result);
  },
  watch(settings, address, seen) {
    const socket = new WebSocket(wsUrl(settings), { headers: headersOf(settings) });
    const subscribe = (id: number, ...params: unknown[]): void => {
      socket.send(JSON.stringify({ jsonrpc: '2.0', id, method: 'eth_subscribe', params }));
    };
    const kinds = new Map<unknown, 'head' | 'log'>();
    socket.on('message', (data: Buffer) => {
      const message = JSON.parse(data.toString()) as {
        id?: number;
        result?: string;
        params?: { subscription: string };
      };
      if (message.id !== undefined) kinds.set(message.result, message.id === 1 ? 'head' : 'log');
      const what = kinds.get(message.params?.subscription);
      if (what !== undefined) seen(what);
    });
    return new Promise((resolve, reject) => {
      socket.once('error', reject);
      socket.once('open', () => {
        subscribe(1, 'newHeads');
        subscribe(2, 'logs', { address });
        resolve(() => {
          socket.terminate();
        });
      });
    });
  },
};

export const hostClients = [ethers, viem, web3, raw];
