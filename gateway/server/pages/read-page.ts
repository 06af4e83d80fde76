import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { ServerResponse } from 'node:http';
import { packageRoot, version } from '../../config/package.ts';

/** A page with its styles and scripts inlined. */
export interface Page {
  readonly html: string;
  /** Content-Security-Policy that allows the inlined styles and scripts only; `sendPage` adds connect-src. */
  readonly policy: string;
}

/** A page of the console. */
export interface ConsoleLink {
  readonly path: string;
  readonly title: string;
}

const require = createRequire(import.meta.url);
const folder = join(packageRoot, 'gateway/server/pages/assets');

/** Pages that were read, by their paths. */
const pages = new Map<string, Page>();

/**
 * Reads a page, once in a process.
 * @param path of the HTML file in the folder of assets; its links are relative to it
 * @param data for the page's scripts, as JSON in `#data`
 * @param links of the navigation, which each page has
 */
export function readPage(path: string, data: object = {}, links: readonly ConsoleLink[] = []): Page {
  const { html, policy } = pages.get(path) ?? readAssets(path);
  const completed = html
    .replace('<body>', (start) => start + navigation(links))
    // JSON is not run, so it needs no hash. `<` is escaped, because `</script>` would end the element.
    .replace('id="data">', (start) => start + JSON.stringify(data).replaceAll('<', '\\u003c'));
  return { html: completed, policy };
}

/**
 * Inlines the styles and scripts of a page, so that it needs no other URL, at any path and behind any proxy. The
 * Content-Security-Policy allows each by its hash.
 */
function readAssets(path: string): Page {
  const hashes = { script: new Set<string>(), style: new Set<string>() };
  const inline = (kind: 'script' | 'style', file: string): string => {
    const text = readFileSync(pathOf(path, file), 'utf8');
    hashes[kind].add(`'sha256-${hash('sha256', text, 'base64')}'`);
    return `<${kind}>${text}</${kind}>`;
  };
  const html = readFileSync(join(folder, path), 'utf8')
    .replace(/<link rel="stylesheet" href="([\w./-]+)" \/>/g, (_, file: string) => inline('style', file))
    .replace(/<script src="([\w./-]+)"><\/script>/g, (_, file: string) => inline('script', file))
    .replace('href="data:,"', `href="${icon}"`);
  const policy = [
    "default-src 'none'",
    `script-src ${hashes.script.size === 0 ? "'none'" : [...hashes.script].join(' ')}`,
    `style-src ${[...hashes.style].join(' ')}`,
    // Icons of wallets (EIP-6963) and of the page.
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
  const page = { html, policy };
  pages.set(path, page);
  return page;
}

/** Files of a package of npm begin with its name. */
function pathOf(page: string, file: string): string {
  return file.startsWith('uplot/') ? require.resolve(file) : join(folder, dirname(page), file);
}

/** The letter G on a square. */
const icon =
  'data:image/svg+xml,' +
  encodeURIComponent(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3" fill="#1f5fbf"/>' +
      '<path d="M11.5 5.5A4.2 4.2 0 1 0 12 8H8.5" fill="none" stroke="#fff" stroke-width="1.8"/></svg>',
  );

/** The scripts of the page mark the link to itself. */
function navigation(links: readonly ConsoleLink[]): string {
  if (links.length === 0) return '';
  const items = links.map(({ path, title }) => `<a href="${path}">${title}</a>`).join('');
  return `<nav id="console" class="row" aria-label="Console">${items}<span class="quiet">Gatehouse ${version}</span></nav>`;
}

/**
 * The page for browsers that open an address without a network or page.
 * @param hasStatus whether the root of the port has the status page
 */
export function readWrongAddressPage(hasStatus: boolean): Page {
  const page = readPage('wrong-address/wrong-address.html');
  return hasStatus ? page : { ...page, html: page.html.replace(/ *<p id="home">.*<\/p>\n/, '') };
}

/** @param connect origins that the page's scripts may call, besides its own */
export function sendPage(
  response: ServerResponse,
  { html, policy }: Page,
  connect: readonly string[] = [],
  status = 200,
): void {
  response.writeHead(status, {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Length': Buffer.byteLength(html),
    'Content-Security-Policy': `${policy}; connect-src ${["'self'", ...connect].join(' ')}`,
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
    // The URL may contain a key.
    'Cache-Control': 'no-store',
    Vary: 'Accept',
  });
  response.end(html);
}
