import type { FundedAccounts } from '../../local-chain/funded-accounts.ts';
import type { NetworkConfig } from '../network-files/network-config.ts';
import { printable } from './columns.ts';
import { curlLine } from './curl-line.ts';

/** The facts that the banner shows. */
export interface BannerFacts {
  readonly version: string;
  /** Command with which the operator runs the command line. */
  readonly command: string;
  readonly host: string;
  readonly port: number;
  readonly opsPort: number | undefined;
  /** URLs of the pages for operators; undefined: they are off. */
  readonly statusPage: string | undefined;
  readonly keysPage: string | undefined;
  /** Whether the networks are those of the package, because the folder of the operator does not exist. */
  readonly hasPackageNetworks: boolean;
  readonly networks: readonly NetworkConfig[];
  /** A line with the reason for each network that is not served. */
  readonly leftOut: readonly string[];
  /** Description of the key store. */
  readonly keyPlace: string;
  readonly developmentKey: string | undefined;
  /** Accounts of the local chain; undefined without one, or if other machines can reach the gateway. */
  readonly funded: FundedAccounts | undefined;
  /** A shell line that calls the local chain; undefined without one. */
  readonly tryIt: string | undefined;
}

/** Makes the text that `gatehouse start` prints on a terminal. */
export function banner(facts: BannerFacts): string {
  const address = addressOf(facts.host, facts.port);
  const lines = [
    `Gatehouse ${facts.version} listens on ${address}`,
    ...(facts.opsPort === undefined ? [] : [`Metrics and health: port ${facts.opsPort}`]),
    ...(facts.statusPage === undefined ? [] : [`Status page: ${facts.statusPage}`]),
    `Keys page: ${facts.keysPage ?? 'off, needs OPS_PORT and ADMIN_TOKEN'}`,
    '',
    facts.hasPackageNetworks
      ? `Networks of the package, with public endpoints, because there is no folder networks here (${facts.command} init)`
      : 'Networks',
    ...networkLines(facts.networks, address),
    ...facts.leftOut.map((line) => `  ${line}`),
    ...accountLines(facts.funded),
    '',
    `Keys: ${facts.keyPlace}, as digests only`,
    ...keyLines(facts, address),
  ];
  return printable(`${lines.join('\n')}\n`);
}

/** Makes a URL without a path; a URL has IPv6 addresses in brackets. */
export function addressOf(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function networkLines(networks: readonly NetworkConfig[], address: string): string[] {
  const width = Math.max(...networks.map(({ name }) => name.length));
  return networks.flatMap(({ slug, name, baseUrls }) =>
    [`${address}/${slug}`, ...baseUrls].map(
      (base, index) => `  ${(index === 0 ? name : '').padEnd(width)}  ${base}/v3/<key>`,
    ),
  );
}

function accountLines(funded: FundedAccounts | undefined): string[] {
  if (funded === undefined) return [];
  const { accounts, balance, mnemonic } = funded;
  return [
    '',
    `Accounts of the local chain, with ${balance} ETH each: address and private key, both public`,
    ...accounts.map(({ address, privateKey }, index) => `  (${index}) ${address} ${privateKey}`),
    `  Mnemonic: ${mnemonic}`,
  ];
}

function keyLines({ command, developmentKey, tryIt, networks: [first] }: BannerFacts, address: string): string[] {
  if (developmentKey === undefined) return [`Create a key: ${command} keys create --name alice`];
  const shown = `Development key, for this machine only: ${developmentKey}`;
  if (tryIt !== undefined) return [shown, '', `Try it in another shell (more: ${command} demo):`, '', tryIt];
  if (first?.methods.includes(triedMethod) !== true) return [shown];
  const url = `${address}/${first.slug}/v3/${developmentKey}`;
  return [shown, '', 'Try it in another shell:', '', chainIdLine(url)];
}

/** The method of the shell line that calls a network. */
export const triedMethod = 'eth_chainId';

/** A shell line that calls a network. The gateway responds without an upstream, so it works without internet access. */
export function chainIdLine(url: string, options: readonly string[] = []): string {
  return curlLine(url, triedMethod, [], options);
}
