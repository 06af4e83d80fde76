'use strict';

async function main() {
  const response = await fetch(byId('document').href, { headers: { accept: 'application/json' } });
  if (!response.ok) throw new Error(`HTTP ${response.status}`);
  const { info, servers, methods: named, components, 'x-pass-through': open } = await response.json();
  const methods = [...named, ...wildcardsOf(open)];
  byId('title').textContent = `${info.title}: methods`.replace('Gatehouse: ', '');
  document.title = `${byId('title').textContent} · Gatehouse`;
  byId('summary').textContent = `${formatNumber(named.length)} methods, JSON-RPC 2.0`;
  offerServers(servers);
  byId('methods').replaceChildren(...methods.map((method) => methodCard(method, components)));
  byId('types').append(
    ...Object.entries(components.schemas).map(([name, schema]) => typeCard(name, schema, components.schemas)),
  );
  byId('search').addEventListener('input', ({ target }) => {
    const search = target.value.trim().toLowerCase();
    for (const card of byId('methods').children) card.hidden = !card.id.toLowerCase().includes(search);
  });
  window.addEventListener('hashchange', openTarget);
  openTarget();
}

/** Wildcards of methods without a schema, each as an entry without parameters. */
function wildcardsOf({ methods = [], summary } = {}) {
  const entry = { summary, params: [], result: { name: 'result', schema: true }, errors: [], examples: [] };
  return methods.map((name) => ({ ...entry, name }));
}

/** Offers this page's own base URL, if it has one, and those of the document. */
function offerServers(servers) {
  const own = location.origin + location.pathname.replace(/\/docs\/?$/, '');
  const urls = servers.filter(({ name }) => name === 'HTTP').map(({ url }) => url.replace(/\/v3\/\$\{key\}$/, ''));
  // On the same host the page's origin is used: a proxy may have changed the scheme to https.
  const reachable = urls.map((url) =>
    sameHost(url) ? location.origin + new URL(url).pathname.replace(/\/$/, '') : url,
  );
  const all = own === location.origin ? reachable : [own, ...reachable];
  byId('base').replaceChildren(...[...new Set(all)].map((url) => element('option', {}, url)));
}

function sameHost(url) {
  return URL.canParse(url) && new URL(url).host === location.host;
}

/** Opens the method or type that the URL's fragment names. */
function openTarget() {
  const target = byId(decodeURIComponent(location.hash.slice(1)));
  if (target === null) return;
  target.open = true;
  target.scrollIntoView();
}

function methodCard({ name, summary, description, params, result, errors, examples }, { schemas, errors: known }) {
  const paramRows = params.map((param) => [
    element('code', {}, ...breakable(param.name)),
    element('span', {}, ...schemaSummary(param.schema, schemas)),
    param.required ? '' : 'optional',
    element('span', { class: 'quiet' }, param.summary ?? ''),
  ]);
  const errorRows = errors.map(({ $ref }) => {
    const { code, message } = known[$ref.slice($ref.lastIndexOf('/') + 1)];
    return [String(code), message];
  });
  const [example] = examples;
  return element(
    'details',
    { class: 'card method', id: name },
    element('summary', {}, element('code', {}, ...breakable(name)), element('span', { class: 'quiet' }, summary ?? '')),
    element('p', {}, description ?? ''),
    element('h3', {}, 'Parameters'),
    params.length === 0
      ? element('p', { class: 'quiet' }, 'None in the specification.')
      : table(['Name', 'Type', '', ''], paramRows),
    element('h3', {}, 'Result'),
    element('p', {}, ...schemaSummary(result.schema, schemas)),
    errorRows.length === 0 ? undefined : element('h3', {}, 'Errors'),
    errorRows.length === 0 ? undefined : table(['Code', 'Message'], errorRows),
    example === undefined ? undefined : element('h3', {}, `Example: ${example.name}`),
    example === undefined ? undefined : element('pre', { class: 'result', tabindex: '0' }, text(example.result.value)),
    element('h3', {}, 'Try it'),
    ...callForm(name, example?.params.map(({ value }) => value) ?? []),
  );
}

/** Creates a form that sends a call: its parameters, a button, and the response. */
function callForm(method, params) {
  const id = `params-${method}`;
  const input = element('textarea', { id, rows: Math.min(12, text(params).split('\n').length), spellcheck: 'false' });
  input.value = text(params);
  const output = element('pre', { class: 'result', role: 'status', tabindex: '0', hidden: true });
  const click = async () => {
    output.hidden = false;
    output.textContent = '…';
    output.textContent = await send(method, input.value);
  };
  return [
    element('label', { for: id }, 'Parameters, as JSON'),
    input,
    element('button', { type: 'button', class: 'main', click }, 'Send'),
    output,
  ];
}

async function send(method, params) {
  const key = byId('key').value.trim();
  if (key === '') {
    byId('key').focus();
    return 'Enter your key first, at the top of this page.';
  }
  try {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: JSON.parse(params) });
    const headers = { 'content-type': 'application/json' };
    const url = `${byId('base').value}/v3/${encodeURIComponent(key)}`;
    const response = await fetch(url, { method: 'POST', headers, body, referrerPolicy: 'no-referrer' });
    return text(await response.json());
  } catch (error) {
    return `The request failed: ${error.message}`;
  }
}

function text(value) {
  return JSON.stringify(value, undefined, 2);
}

main().catch((error) => {
  byId('summary').textContent = `The OpenRPC document cannot be loaded: ${error.message}`;
});
