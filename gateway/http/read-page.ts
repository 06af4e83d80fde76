import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ServerResponse } from 'node:http';
import { packageRoot } from '../config/package.ts';

/** A page with all that it needs in it, and the policy that lets nothing else run. */
export interface Page {
  readonly html: string;
  readonly policy: string;
}

const folder = join(packageRoot, 'gateway/http/pages');

export interface PageOptions {
  /** Further origins that its scripts may call; its own is one of them. */
  readonly connect?: readonly string[];
  /** What its scripts find as JSON in `#data`. */
  readonly data?: object;
}

/**
 * Reads a page and puts its styles and scripts into it: whatever path it is served at, behind whatever proxy, it needs
 * no other address. Each may run because its hash stands in the Content-Security-Policy.
 */
export function readPage(name: string, { connect = [], data }: PageOptions = {}): Page {
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
    .replace('id="data">', (start) => start + JSON.stringify(data ?? {}).replaceAll('<', '\\u003c'));
  const policy = [
    "default-src 'none'",
    `script-src ${[...hashes.script].join(' ')}`,
    `style-src ${[...hashes.style].join(' ')}`,
    `connect-src ${["'self'", ...connect].join(' ')}`,
    // Icons of wallets (EIP-6963) and of the page.
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
  return { html, policy };
}

export function sendPage(response: ServerResponse, { html, policy }: Page): void {
  response.writeHead(200, {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Length': Buffer.byteLength(html),
    'Content-Security-Policy': policy,
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
    // The address may have a key in it.
    'Cache-Control': 'no-store',
    Vary: 'Accept',
  });
  response.end(html);
}
