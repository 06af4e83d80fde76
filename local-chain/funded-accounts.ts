import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The accounts of a development node that have ether. Their private keys are public: all development nodes have the same. */
export interface FundedAccounts {
  readonly mnemonic: string;
  /** Ether of each account at the start. */
  readonly balance: number;
  readonly accounts: readonly { readonly address: string; readonly privateKey: string }[];
}

/** Ether of each account at the start. */
export const ACCOUNT_BALANCE = 10_000;

/** The file that anvil writes with `--config-out`. It is removed with its folder. */
export class AccountsFile {
  readonly #folder = mkdtempSync(join(tmpdir(), 'gatehouse-anvil-'));
  readonly path = join(this.#folder, 'accounts.json');

  /** @returns undefined while anvil has not written the whole file */
  read(): FundedAccounts | undefined {
    try {
      const written = JSON.parse(readFileSync(this.path, 'utf8')) as {
        readonly available_accounts: readonly string[];
        readonly private_keys: readonly string[];
        readonly wallet: { readonly mnemonic: string };
      };
      const { available_accounts: addresses, private_keys: keys, wallet } = written;
      const accounts = addresses.map((address, index) => ({ address, privateKey: keys[index] ?? '' }));
      return { mnemonic: wallet.mnemonic, balance: ACCOUNT_BALANCE, accounts };
    } catch {
      return undefined;
    }
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
