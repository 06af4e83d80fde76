'use strict';

/** This page's base URL: its network's, or the origin. */
const ownBase = location.origin + location.pathname.replace(/\/docs\/?$/, '');

async function main() {
  const { hasStatus } = JSON.parse(byId('data').textContent);
  const isOne = ownBase !== location.origin;
  byId('status').href = `${ownBase}/`;
  byId('status').hidden = !hasStatus;
  byId('all').hidden = !isOne;
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
  byId('search').addEventListener('input', findMethods);
  window.addEventListener('hashchange', openTarget);
  openTarget();
}

/** Wildcards of methods without a schema, each as an entry without parameters. */
function wildcardsOf({ methods = [], summary } = {}) {
  const entry = { summary, params: [], result: { name: 'result', schema: true }, errors: [], examples: [] };
  return methods.map((name) => ({ ...entry, name }));
}

/** Shows the methods whose name or summary has all words of the search. */
function findMethods() {
  const words = byId('search').value.trim().toLowerCase().split(/\s+/);
  const cards = [...byId('methods').children];
  for (const card of cards) {
    const searched = `${card.id} ${card.querySelector('summary .quiet').textContent}`.toLowerCase();
    card.hidden = !words.every((word) => searched.includes(word));
  }
  const count = cards.filter(({ hidden }) => !hidden).length;
  byId('types').hidden = words[0] !== '';
  byId('found').textContent =
    words[0] === '' ? '' : count === 0 ? 'No method matches.' : `${quantity(count, 'method')} found.`;
}

/** Offers this page's own base URL, if it has one, and those of the document. */
function offerServers(servers) {
  const urls = servers.filter(({ name }) => name === 'HTTP').map(({ url }) => url.replace(/\/v3\/\$\{key\}$/, ''));
  // On the same host the page's origin is used: a proxy may have changed the scheme to https.
  const reachable = urls.map((url) =>
    sameHost(url) ? location.origin + new URL(url).pathname.replace(/\/$/, '') : url,
  );
  const all = ownBase === location.origin ? reachable : [ownBase, ...reachable];
  byId('base').replaceChildren(...[...new Set(all)].map((url) => element('option', {}, url)));
}

function sameHost(url) {
  return URL.canParse(url) && new URL(url).host === location.host;
}

/** Opens the method or type that the URL's fragment names, which a search may have hidden. */
function openTarget() {
  const target = byId(decoded(location.hash.slice(1)));
  if (target === null) return;
  if (target.checkVisibility?.() === false) {
    byId('search').value = '';
    findMethods();
  }
  target.open = true;
  target.scrollIntoView();
}

/** A link to a method or a type, which can be copied. */
function permalink(id) {
  return element('a', { class: 'permalink', href: `#${id}`, title: `Link to ${id}` }, '#', ...breakable(id));
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
  const card = element(
    'details',
    { class: 'card method', id: name },
    element('summary', {}, element('code', {}, ...breakable(name)), element('span', { class: 'quiet' }, summary ?? '')),
    element('p', {}, description ?? '', description === undefined ? '' : ' ', permalink(name)),
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
  );
  const values = example?.params.map(({ value }) => value) ?? [];
  // Forms are made when their cards are opened, because a page has a hundred of them.
  card.addEventListener('toggle', () => card.append(...callForm(name, values)), { once: true });
  card.addEventListener('toggle', () => {
    // The address is that of the method that was opened last.
    if (card.open) history.replaceState(null, '', `#${name}`);
  });
  return card;
}

main().catch((error) => {
  byId('summary').textContent = `The OpenRPC document cannot be loaded: ${error.message}`;
});
