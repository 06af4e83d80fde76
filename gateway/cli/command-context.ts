import { openImportedStore } from '../backup/former-files.ts';
import { KeyManager } from '../auth/manage/manage-keys.ts';
import type { PlanSource } from '../auth/permissions/plans.ts';
import { KeyStore } from '../auth/stores/key-store.ts';
import { readAuth } from '../auth/tokens/read-auth.ts';
import { openLog } from '../config/log.ts';
import type { Settings } from '../config/settings.ts';
import { NetworkFilesError, readFolder } from '../network-files/load-networks.ts';
import type { NetworkConfig } from '../network-files/network-config.ts';
import { methodNames } from '../spec/method-facts.ts';
import type { Store } from '../store/store.ts';
import { UsageStore } from '../usage/usage-store.ts';

/** Redis may be starting at the same time. An operator should not wait longer. */
export const OPEN_TIMEOUT_MS = 1_500;

/** What commands get of their process. Their errors are printed by `exitCodeFor`. */
export interface CommandContext {
  readonly settings: () => Settings;
  /** Standard input, for `--key-stdin`. */
  readonly input: AsyncIterable<Uint8Array | string>;
  /** Write text unchanged to standard output and standard error. */
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly setExitCode: (code: number) => void;
  /** Reads the network files. @throws NetworkFilesError */
  readonly networks: () => readonly NetworkConfig[];
  /**
   * The URL of a network for calls with a key.
   * @param slugs networks that the key may use, with commas; undefined: all
   * @returns undefined if the networks are not known here
   */
  readonly callUrl: (key: string, slugs: string | undefined) => string | undefined;
  /** Request units of a lookup, as UNITS_FILE has them. */
  readonly lookupUnits: () => number;
}

interface OpenStores {
  readonly store: Store;
  readonly keys: KeyStore;
  readonly usage: UsageStore;
  readonly manager: KeyManager;
}

/**
 * Opens the store for one command, and closes it.
 * @param isKeyCommand as of `openImportedStore`
 */
export async function withStores(
  { settings }: Pick<CommandContext, 'settings'>,
  work: (stores: OpenStores) => Promise<void>,
  isKeyCommand = true,
): Promise<void> {
  const log = openLog('silent');
  const store = await openImportedStore(settings(), log, OPEN_TIMEOUT_MS, isKeyCommand);
  try {
    const keys = new KeyStore(store, log);
    let read: PlanSource | undefined;
    // Read once, and for keys with a plan only: an invalid file stops no other operation.
    const plans: PlanSource = () => (read ??= readPlans(settings()))();
    await work({
      store,
      keys,
      usage: new UsageStore(store, log),
      manager: new KeyManager(keys, plans, methodNames),
    });
  } finally {
    await store.close();
  }
}

/** Reads the plans of auth.yaml. The source throws the error of an invalid file. */
function readPlans({ NETWORKS_DIR: folder }: Settings): PlanSource {
  try {
    const { plans } = readAuth(readFolder(folder), false);
    return () => plans;
  } catch (error) {
    if (!(error instanceof NetworkFilesError)) throw error;
    return () => {
      throw error;
    };
  }
}

/** Makes the examples of a command's help. @param lines without the name of the program */
export function examples(...lines: string[]): string {
  return `\nExamples:\n${lines.map((line) => `  gatehouse ${line}`).join('\n')}`;
}
