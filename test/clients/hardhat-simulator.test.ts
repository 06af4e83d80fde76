import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { createProvider, type HttpProvider } from './hardhat-client.ts';
import { makeWorld } from './world.ts';

interface NetworkHelpers {
  readonly time: { latestBlock(): Promise<number>; increase(seconds: number): Promise<number> };
}

/** Taken out by its path, as the provider is: the way to it goes through the simulator. */
async function helpersOf(provider: HttpProvider): Promise<NetworkHelpers> {
  const package_ = createRequire(import.meta.url).resolve('@nomicfoundation/hardhat-network-helpers/package.json');
  const path = 'dist/src/internal/network-helpers/network-helpers.js';
  const { NetworkHelpers: Helpers } = (await import(new URL(path, pathToFileURL(package_)).href)) as {
    NetworkHelpers: new (connection: object) => NetworkHelpers;
  };
  return new Helpers({ provider, networkName: 'test' });
}

it('Hardhat’s network helpers work on a simulator itself, and refuse a gateway before it by themselves', async () => {
  const world = await makeWorld();
  const direct = await createProvider(world.anvil.url);
  expect(await (await helpersOf(direct)).time.latestBlock()).toBe(3);
  const provider = await createProvider(world.place.http);
  const { time } = await helpersOf(provider);
  await expect(time.latestBlock()).rejects.toThrow(/can only be used with .*Gatehouse/s);
  await expect(time.increase(60)).rejects.toThrow(/can only be used with/);
  expect([...world.wire.asked]).toEqual(['web3_clientVersion']);
  await Promise.all([direct.close(), provider.close()]);
  await world.close();
});
