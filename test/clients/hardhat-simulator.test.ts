import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { createProvider, type HttpProvider } from './hardhat-client.ts';
import { makeWorld } from './world.ts';

interface NetworkHelpers {
  readonly time: { latestBlock(): Promise<number>; increase(seconds: number): Promise<number> };
}

/** Imported by its path, like the provider, because the public import loads the simulator. */
async function helpersOf(provider: HttpProvider): Promise<NetworkHelpers> {
  const package_ = createRequire(import.meta.url).resolve('@nomicfoundation/hardhat-network-helpers/package.json');
  const path = 'dist/src/internal/network-helpers/network-helpers.js';
  const { NetworkHelpers: Helpers } = (await import(new URL(path, pathToFileURL(package_)).href)) as {
    NetworkHelpers: new (connection: object) => NetworkHelpers;
  };
  return new Helpers({ provider, networkName: 'test' });
}

it('Hardhat’s network helpers work on a simulator, and reject a network that is not for development without a request', async () => {
  const world = await makeWorld();
  const direct = await createProvider(world.anvil.url);
  expect(await (await helpersOf(direct)).time.latestBlock()).toBe(3);
  const provider = await createProvider(world.connection.http);
  const { time } = await helpersOf(provider);
  await expect(time.latestBlock()).rejects.toThrow(/can only be used with .*Gatehouse/s);
  await expect(time.increase(60)).rejects.toThrow(/can only be used with/);
  expect([...world.proxy.requestedMethods]).toEqual(['web3_clientVersion']);
  await Promise.all([direct.close(), provider.close()]);
  await world.close();
});
