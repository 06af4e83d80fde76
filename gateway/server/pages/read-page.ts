import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ServerResponse } from 'node:http';
import { packageRoot } from '../../config/package.ts';

/** A page with all that it needs in it. */
export interface Page {
  readonly html: string;
  /** The part of the policy that lets what stands in it run, and nothing else. */
  readonly policy: string;
}

const folder = join(packageRoot, 'gateway/server/pages/assets');

/**
 * Reads a page and puts its styles and scripts into it: whatever path it is served at, behind whatever proxy, it needs
 * no other address. Each may run because its hash stands in the Content-Security-Policy.
 * @param data what its scripts find as JSON in `#data`
 */
export function readPage(name: string, data: object = {}): Page {
  const hashes = { script: new Set<string>(), style: new Set<string>() };
  const inline = (kind: 'script' | 'style', file: string): string => {
    const text = readFileSync(join(folder, file), 'utf8');
    hashes[kind].add(`'sha256-${hash('sha256', text, 'base64')}'`);
    return `<${kind}>${text}</${kind}>`;
  };
  const html = readFileSync(join(folder, name), 'utf8')
    .replace(/<link rel="stylesheet" href="([\w.-]+)" \/>/g, (_, file: string) => inline('style', file))
    .replace(/<script src="([\w.-]+)"><\/script>/g, (_, file: string) => inline('script', file))
    // Not run, so that it needs no hash; what would end it is written in another way.
    .replace('id="data">', (start) => start + JSON.stringify(data).replaceAll('<', '\\u003c'));
  const policy = [
    "default-src 'none'",
    `script-src ${[...hashes.script].join(' ')}`,
    `style-src ${[...hashes.style].join(' ')}`,
    // Icons of wallets (EIP-6963) and of the page.
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
  return { html, policy };
}

/** @param connect origins that its scripts may call besides its own */
export function sendPage(response: ServerResponse, { html, policy }: Page, connect: readonly string[] = []): void {
  response.writeHead(200, {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Length': Buffer.byteLength(html),
    'Content-Security-Policy': `${policy}; connect-src ${["'self'", ...connect].join(' ')}`,
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
    // The address may have a key in it.
    'Cache-Control': 'no-store',
    Vary: 'Accept',
  });
  response.end(html);
}
