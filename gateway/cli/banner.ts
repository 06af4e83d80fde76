import type { NetworkConfig } from '../network-files/network-config.ts';
import { curlLine } from './demo.ts';

export interface BannerFacts {
  readonly version: string;
  readonly host: string;
  readonly port: number;
  readonly opsPort: number | undefined;
  readonly networks: readonly NetworkConfig[];
  /** Networks that were left out, and why. */
  readonly leftOut: readonly string[];
  /** Where keys are kept, in words. */
  readonly keyPlace: string;
  readonly developmentKey: string | undefined;
  /** A line to paste that asks the local chain; undefined where there is none. */
  readonly tryIt: string | undefined;
}

/** What a person who starts the gateway wants to know, in plain words. */
export function banner(facts: BannerFacts): string {
  const address = addressOf(facts.host, facts.port);
  const lines = [
    `Gatehouse ${facts.version} listens on ${address}`,
    ...(facts.opsPort === undefined ? [] : [`Metrics and health: port ${facts.opsPort}`]),
    '',
    'Networks',
    ...networkLines(facts.networks, address),
    ...facts.leftOut.map((line) => `  ${line}`),
    '',
    `Keys: ${facts.keyPlace}`,
    ...keyLines(facts, address),
  ];
  return `${lines.join('\n')}\n`;
}

/** As a URL without a path; an IPv6 address stands in brackets there. */
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

function keyLines({ developmentKey, tryIt, networks: [first] }: BannerFacts, address: string): string[] {
  if (developmentKey === undefined) return ['Make one: npx gatehouse keys create --name alice'];
  const shown = `Development key, for this machine only: ${developmentKey}`;
  if (tryIt !== undefined) return [shown, '', 'Try it in another shell (more: npx gatehouse demo):', '', tryIt];
  // The gateway itself has the answer, so that it comes without the internet.
  if (first?.methods.includes('eth_chainId') !== true) return [shown];
  const url = `${address}/${first.slug}/v3/${developmentKey}`;
  return [shown, '', 'Try it in another shell:', '', curlLine(url, 'eth_chainId', [])];
}
