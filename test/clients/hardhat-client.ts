import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { privateKeyToAccount } from 'viem/accounts';
import type { Client } from './client.ts';
import { providerDay } from './provider-day.ts';

export interface HttpProvider {
  request(call: { method: string; params: readonly unknown[] }): Promise<unknown>;
  close(): Promise<void>;
}

/**
 * The provider of Hardhat networks of the type `http`. It is imported by its path, because `network.connect()` first loads
 * a native simulator that Node 20 cannot run.
 */
export async function createProvider(url: string): Promise<HttpProvider> {
  const root = new URL('.', pathToFileURL(createRequire(import.meta.url).resolve('hardhat/package.json')));
  const path = 'dist/src/internal/builtin-plugins/network-manager/http-provider.js';
  const { HttpProvider: hardhat } = (await import(new URL(path, root).href)) as {
    HttpProvider: { create(options: object): Promise<HttpProvider> };
  };
  return hardhat.create({ url, networkName: 'test', timeout: 10_000 });
}

export const hardhatClient: Client = {
  name: 'Hardhat',
  async open({ http, privateKey }) {
    const provider = await createProvider(http);
    const request = (method: string, params: readonly unknown[]) => provider.request({ method, params });
    return providerDay(request, privateKeyToAccount(privateKey), () => provider.close());
  },
};
