'use strict';

const { fields } = JSON.parse(byId('data').textContent);

/** What permissions can be chosen from: loaded when the page is opened. */
let choices = { methods: [], origins: [], teams: [] };

const groupTitles = { access: 'Access', limits: 'Limits', rare: 'Rarely used' };

/** Creates the fields of a form in their groups; the rarely used ones are folded. */
function permissionGroups(prefix) {
  return Object.entries(groupTitles).map(([group, title]) => {
    const own = fields.filter((field) => field.page.group === group);
    const grid = element('div', { class: 'fields' }, ...own.map((field) => permissionField(prefix, field)));
    return group === 'rare'
      ? element('details', { id: `${prefix}-rare` }, element('summary', {}, title), grid)
      : element('fieldset', {}, element('legend', {}, title), grid);
  });
}

/** A labelled control, with its hint and a place for its error. */
function permissionField(prefix, { name, title, meaning, page }) {
  const id = `${prefix}-${name}`;
  const text = meaning.replaceAll('`', '');
  const start = `${title.toLowerCase()}: `;
  const hint = text.startsWith(start) ? text.slice(start.length) : text;
  const error = element('p', { id: `${id}-error`, class: 'error' });
  if (page.control === 'switches') return switches(id, title, page.switches, hint, error);
  const input = element('input', {
    id,
    class: 'code',
    autocomplete: 'off',
    spellcheck: 'false',
    ...(page.control === 'time' && { type: 'datetime-local', step: '60' }),
    'aria-describedby': `${id}-hint`,
  });
  return element(
    'div',
    {},
    element('label', { for: id }, title),
    input,
    chooser(input, title, page.control),
    element(
      'p',
      { id: `${id}-hint`, class: 'hint' },
      page.control === 'time' ? 'time in UTC; empty: the key does not expire' : hint,
    ),
    error,
  );
}

/** A text of the values of checkboxes, in an input that is not shown. */
function switches(id, title, values, hint, error) {
  const input = element('input', { id, type: 'hidden' });
  const boxes = Object.entries(values).map(([value, meaning]) => {
    const box = element('input', { id: `${id}-${value}`, type: 'checkbox', value, role: 'switch' });
    box.addEventListener('change', () => {
      input.value = boxes.flatMap(({ control }) => (control.checked ? [control.value] : [])).join(',');
    });
    return { control: box, label: element('label', { class: 'check' }, box, meaning) };
  });
  const show = () => {
    const on = entriesOf(input.value);
    for (const { control } of boxes) control.checked = on.includes(control.value);
  };
  input.addEventListener('fill', show);
  return element(
    'fieldset',
    {},
    element('legend', {}, title),
    input,
    ...boxes.map(({ label }) => label),
    element('p', { id: `${id}-hint`, class: 'hint' }, hint),
    error,
  );
}

/** A choice of what exists, which adds its value to the input. Undefined: any text may be entered. */
function chooser(input, title, control) {
  if (!['networks', 'methods', 'origins', 'teams'].includes(control)) return undefined;
  const isList = control !== 'teams';
  const noun = title.toLowerCase();
  const select = element('select', { 'aria-label': isList ? `Add to ${noun}` : `Choose a ${noun}`, class: 'choose' });
  const fill = () => {
    const known = control === 'networks' ? gateway.networks.map(({ slug }) => slug) : choices[control];
    const entries = entriesOf(input.value);
    const left = known.filter((value) => !entries.includes(value));
    select.replaceChildren(
      element('option', { value: '' }, isList ? 'Add …' : 'Choose …'),
      ...left.map((value) => element('option', { value }, value)),
    );
    select.hidden = known.length === 0;
  };
  select.addEventListener('change', () => {
    if (select.value === '') return;
    input.value = isList ? [...entriesOf(input.value), select.value].join(',') : select.value;
    fill();
  });
  for (const event of ['fill', 'change']) input.addEventListener(event, fill);
  return select;
}

function entriesOf(text) {
  return text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
}

function fillPermissions(prefix, permissions) {
  for (const { name, page } of fields) {
    const input = byId(`${prefix}-${name}`);
    const text = permissions[name] ?? '';
    input.value = page.control === 'time' ? localTime(text) : text;
    input.dataset.filled = input.value;
    input.dispatchEvent(new Event('fill'));
  }
}

/** A time as a control for date and time has it, in UTC. Empty for an invalid one. */
function localTime(text) {
  const at = Date.parse(text);
  return Number.isNaN(at) ? '' : new Date(at).toISOString().slice(0, 16);
}

/** Values that were edited: others may be changed elsewhere meanwhile. An empty input removes its permission. */
function editedPermissions(prefix) {
  const edited = fields.flatMap(({ name, page }) => {
    const { value: given, dataset } = byId(`${prefix}-${name}`);
    const value = given.trim();
    if (value === (dataset.filled ?? '')) return [];
    const text = page.control === 'time' && value !== '' ? `${value.slice(0, 16)}:00Z` : value;
    return [[name, text === '' ? null : text]];
  });
  return Object.fromEntries(edited);
}

/** Prefix of the inputs of each form for permissions. */
const prefixes = { create: 'new', permissions: 'permission' };

/** Shows an error beside its fields, and focuses the first one. @returns whether the form has all of them */
function showErrors(form, { field, message }) {
  const isOfForm = (input) => input !== null && input.form === form;
  if (form.id === 'login') return showError(byId('token'), message);
  if (!field?.startsWith('permissions')) {
    const input = byId(field ?? '');
    return isOfForm(input) && showError(input, message.replace(`${field}: `, ''));
  }
  // One line for each invalid permission: `rate: expected …`, or `…; entry 2 is no address range`.
  const lines = message
    .replaceAll('`', '')
    .split('\n')
    .map((line) => /^(\w+): (.*)$/.exec(line));
  const inputs = lines.map((line) => byId(`${prefixes[form.id]}-${line?.[1]}`));
  if (!inputs.every(isOfForm)) return false;
  for (const input of inputs)
    for (let at = input.closest('details'); at !== null; at = at.parentElement.closest('details')) at.open = true;
  // The first one last, because each is focused.
  for (const [index, input] of [...inputs.entries()].reverse()) showError(input, errorText(input, lines[index]));
  return true;
}

/** The error in the words of its field, with the invalid entry, which the gateway does not repeat. */
function errorText(input, [, name, text]) {
  const { title } = fields.find((field) => field.name === name) ?? { title: name };
  const [, number, noun] = /; entry (\d+) is no (.*)$/.exec(text) ?? [];
  const entry = input.value.split(',')[number - 1]?.trim();
  if (entry === undefined) return `${title}: ${text}`;
  return `${title}: ${entry === '' ? 'an empty entry' : entry} is no ${noun}`;
}
