import { quantity } from './day/day-block.ts';
import { devGenesis } from './geth.ts';

/** The accounts of a genesis block, by address without 0x. */
export type Allocations = Readonly<Record<string, { readonly balance: string; readonly code?: string }>>;

export const THOUSAND_ETHER = `0x${(10n ** 21n).toString(16)}`;

/** Geth's development genesis as of Osaka, at a time in Unix seconds, with further accounts. */
export function osakaGenesis(binary: string, chainId: number, timestamp: number, accounts: Allocations): object {
  const { config, alloc, ...rest } = devGenesis(binary);
  const blobSchedule = config['blobSchedule'] as Readonly<Record<string, unknown>>;
  return {
    ...rest,
    timestamp: quantity(timestamp),
    gasLimit: quantity(60_000_000),
    config: {
      ...{ ...config, chainId, bogotaTime: undefined },
      blobSchedule: { ...blobSchedule, osaka: blobSchedule['prague'] },
    },
    alloc: { ...alloc, ...accounts },
  };
}
