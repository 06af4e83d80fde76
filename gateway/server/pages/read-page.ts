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

/** Link to a page of the console. */
export interface ConsoleLink {
  readonly path: string;
  readonly title: string;
}

interface PageFiles {
  readonly title: string;
  /** Scripts after those that each page has, in their order; the last one is the page's own. */
  readonly scripts: readonly string[];
  /** Text that browsers without JavaScript show after "This page needs JavaScript". */
  readonly instead: string;
}

const plots = ['uplot/uPlot.iife.min.js', 'over-time.js'];
const statusInstead = 'Requests that accept application/json get the status as JSON.';

/** The pages with scripts. Each draws itself into `#page`. */
const pageFiles = {
  overview: {
    title: 'Overview',
    scripts: ['admin.js', ...plots, 'network-states.js', 'overview.js'],
    instead: 'GET /admin/usage has the usage as JSON.',
  },
  status: {
    title: 'Networks',
    scripts: ['network-states.js', 'network-card.js', 'status.js'],
    instead: statusInstead,
  },
  network: {
    title: 'Network',
    scripts: ['snippets.js', ...plots, 'network-states.js', 'network-card.js', 'connect.js', 'network.js'],
    instead: statusInstead,
  },
  docs: {
    title: 'Methods',
    scripts: ['explanation.js', 'call-form.js', 'docs.js'],
    instead: 'openrpc.json has the methods as JSON.',
  },
  keys: {
    title: 'Keys',
    scripts: ['snippets.js', 'usage-plots.js', 'admin.js', 'key-fields.js', 'key-list.js', 'key.js', 'keys.js'],
    instead: 'On the command line, use gatehouse keys.',
  },
  usage: {
    title: 'Usage',
    scripts: ['usage-plots.js', 'admin.js', 'usage.js'],
    instead: 'On the command line, use gatehouse usage.',
  },
  upstreams: {
    title: 'Upstreams',
    scripts: ['admin.js', 'upstreams.js'],
    instead: 'On the command line, use gatehouse upstreams.',
  },
  calls: {
    title: 'Calls',
    scripts: ['admin.js', 'explanation.js', 'calls.js'],
    instead: 'GET /admin/calls has the calls as JSON.',
  },
  events: { title: 'Events', scripts: ['admin.js', 'events.js'], instead: 'GET /admin/events has the events as JSON.' },
} satisfies Record<string, PageFiles>;

const require = createRequire(import.meta.url);
const folder = join(packageRoot, 'gateway/server/pages/assets');

interface Inlined {
  readonly text: string;
  /** Hash as in a Content-Security-Policy. */
  readonly source: string;
}

/** Files that were read, by their names. */
const inlined = new Map<string, Inlined>();

/**
 * A page in the frame that all pages share. Styles and scripts are inlined, so that it needs no other URL, at any path and
 * behind any proxy. The Content-Security-Policy allows each by its hash.
 * @param data for the page's scripts, as JSON in `#data`
 * @param links of the navigation, which each page has
 */
export function readPage(name: keyof typeof pageFiles, data: object, links: readonly ConsoleLink[]): Page {
  const { title, scripts, instead }: PageFiles = pageFiles[name];
  const hasPlots = scripts.includes('over-time.js');
  return frame(
    title,
    ['page.css', ...(hasPlots ? ['uplot/uPlot.min.css'] : [])],
    ['preact/preact.umd.js', 'htm/htm.umd.js', 'page.js', ...scripts],
    // JSON is not run, so it needs no hash. `<` is escaped, because `</script>` would end the element.
    `${navigation(links)}
    <div id="page"></div>
    <noscript>This page needs JavaScript. ${instead}</noscript>
    <script type="application/json" id="data">${JSON.stringify(data).replaceAll('<', '\\u003c')}</script>`,
  );
}

/**
 * The page for browsers that open an address without a network or page.
 * @param hasStatus whether the root of the port has the status page
 */
export function wrongAddressPage(hasStatus: boolean): Page {
  return frame(
    'No page here',
    ['page.css'],
    [],
    `<header>
      <h1>There is no network or page at this address</h1>
    </header>
    <main class="card">
      <p>
        Gatehouse is a gateway for JSON-RPC. Programs and wallets send calls by POST to
        <code>&lt;base URL&gt;/v3/&lt;key&gt;</code>, and open WebSockets at
        <code>&lt;base URL&gt;/ws/v3/&lt;key&gt;</code>. The base URL of a network is this host with the network's name:
        <code>/base/v3/&lt;key&gt;</code>.
      </p>
      <p>Check the name of the network in the address. Its operator gives out base URLs and keys.</p>
      ${hasStatus ? '<p><a href="/">Networks of this gateway</a></p>' : ''}
    </main>`,
  );
}

function frame(title: string, styles: readonly string[], scripts: readonly string[], body: string): Page {
  const [style, script] = [styles.map(inline), scripts.map(inline)];
  const elements = (kind: string, files: readonly Inlined[]): string =>
    files.map(({ text }) => `<${kind}>${text}</${kind}>`).join('\n    ');
  const sources = (files: readonly Inlined[]): string => files.map(({ source }) => source).join(' ');
  const html = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>${title} · Gatehouse</title>
    <link rel="icon" href="${icon}" />
    ${elements('style', style)}
  </head>
  <body>
    ${body}
    ${elements('script', script)}
  </body>
</html>
`;
  const policy = [
    "default-src 'none'",
    `script-src ${scripts.length === 0 ? "'none'" : sources(script)}`,
    `style-src ${sources(style)}`,
    // Icons of wallets (EIP-6963) and of the page.
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
  return { html, policy };
}

/** @param file in the folder of assets, or `package/file` beside the main file of a package */
function inline(file: string): Inlined {
  const known = inlined.get(file);
  if (known !== undefined) return known;
  const [name = '', packaged] = file.split('/');
  const path = packaged === undefined ? join(folder, name) : join(dirname(require.resolve(name)), packaged);
  const text = readFileSync(path, 'utf8');
  const read = { text, source: `'sha256-${hash('sha256', text, 'base64')}'` };
  inlined.set(file, read);
  return read;
}

/** The letter G on a square. */
const icon =
  'data:image/svg+xml,' +
  encodeURIComponent(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3" fill="#1f5fbf"/>' +
      '<path d="M11.5 5.5A4.2 4.2 0 1 0 12 8H8.5" fill="none" stroke="#fff" stroke-width="1.8"/></svg>',
  );

/** Navigation of the console. page.js marks the link to its own page; admin.js shows the button once a token is accepted. */
function navigation(links: readonly ConsoleLink[]): string {
  if (links.length === 0) return '';
  const items = links.map(({ path, title }) => `<a href="${path}">${title}</a>`).join('');
  return (
    `<nav id="console" class="row" aria-label="Console">${items}<span class="quiet">Gatehouse ${version}</span>` +
    '<button id="sign-out" type="button" hidden>Sign out</button></nav>'
  );
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
