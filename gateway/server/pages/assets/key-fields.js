'use strict';

/** Choices of permissions, and the networks of the gateway with the port of their addresses. */
let choices = { methods: [], origins: [], plans: [], teams: [] };
let gateway = { networks: [], port: 0 };

const groupTitles = { access: 'Access', limits: 'Limits', rare: 'Rarely used' };

/** The fields of a form in their groups; the rarely used ones are folded. @param permissions their values */
function permissionGroups(prefix, permissions = {}) {
  return Object.entries(groupTitles).map(([group, title]) => {
    const own = data.fields.filter((each) => each.page.group === group);
    const grid = html`<div class="fields">
      ${own.map((each) => permissionField(prefix, each, permissions[each.name] ?? ''))}
    </div>`;
    return group === 'rare'
      ? html`<details id="${prefix}-rare">
          <summary>${title}</summary>
          ${grid}
        </details>`
      : html`<fieldset>
          <legend>${title}</legend>
          ${grid}
        </fieldset>`;
  });
}

/** A labelled control, with its hint and a place for its error. */
function permissionField(prefix, { name, title, meaning, page }, text) {
  const id = `${prefix}-${name}`;
  const meant = meaning.replaceAll('`', '');
  const start = `${title.toLowerCase()}: `;
  const hint = meant.startsWith(start) ? meant.slice(start.length) : meant;
  if (page.control === 'switches') return switches(id, title, page.switches, hint, entriesOf(text));
  const isTime = page.control === 'time';
  const input = textInput(id, {
    ...{
      class: 'code',
      defaultValue: isTime ? localTime(text) : text,
      onChange: draw,
      'aria-describedby': `${id}-hint`,
    },
    ...(isTime && { type: 'datetime-local', step: '60' }),
  });
  const control = html`${input}${chooser(id, title, page.control)}`;
  return field(id, title, control, isTime ? 'time in UTC; empty: the key does not expire' : hint);
}

/** A checkbox for each value of a list. */
function switches(id, title, values, hint, on) {
  const box = ([value, meaning]) =>
    html`<label class="check">
      <input id="${id}-${value}" type="checkbox" value=${value} role="switch" defaultChecked=${on.includes(value)} />
      ${meaning}
    </label>`;
  return html`<fieldset id=${id}>
    <legend>${title}</legend>
    ${Object.entries(values).map(box)}
    <p id="${id}-hint" class="hint">${hint}</p>
    <p id="${id}-error" class="error"></p>
  </fieldset>`;
}

/** A choice of what exists, which adds its value to the input. Undefined: any text may be entered. */
function chooser(id, title, control) {
  const known = control === 'networks' ? gateway.networks.map(({ slug }) => slug) : choices[control];
  if (known === undefined) return undefined;
  const isList = !['plans', 'teams'].includes(control);
  const noun = title.toLowerCase();
  const entries = entriesOf(byId(id)?.value ?? '');
  const left = known.filter((value) => !entries.includes(value));
  const onChange = ({ currentTarget }) => {
    const { value } = currentTarget;
    if (value === '') return;
    byId(id).value = isList ? [...entriesOf(byId(id).value), value].join(',') : value;
    currentTarget.value = '';
    draw();
  };
  const label = isList ? `Add to ${noun}` : `Choose a ${noun}`;
  const attributes = { 'aria-label': label, class: 'choose', hidden: known.length === 0, onChange };
  return select(`${id}-choose`, { '': isList ? 'Add …' : 'Choose …', ...sameTexts(left) }, attributes);
}

function entriesOf(text) {
  return text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
}

/** A time as a control for date and time has it, in UTC. Empty for an invalid one. */
function localTime(text) {
  const at = Date.parse(text);
  return Number.isNaN(at) ? '' : new Date(at).toISOString().slice(0, 16);
}

/** Shows the values that the form was drawn with, also in inputs that were edited. */
function resetForm(id) {
  draw();
  byId(id).reset();
  clearErrors(byId(id));
  draw();
}

/** Values that were edited: others may be changed elsewhere meanwhile. An empty input removes its permission. */
function editedPermissions(prefix) {
  const edited = data.fields.flatMap(({ name, page }) => {
    const [before, value] = valuesOf(byId(`${prefix}-${name}`));
    if (value === before) return [];
    const text = page.control === 'time' && value !== '' ? `${value.slice(0, 16)}:00Z` : value;
    return [[name, text === '' ? null : text]];
  });
  return Object.fromEntries(edited);
}

/** The text of a control when it was drawn, and now. */
function valuesOf(control) {
  if (control.tagName !== 'FIELDSET') return [control.defaultValue, control.value.trim()];
  const on = (name) => [...control.elements].filter((box) => box[name]).map((box) => box.value);
  return [on('defaultChecked').join(), on('checked').join()];
}

/** Prefix of the inputs of each form for permissions. */
const prefixes = { create: 'new', permissions: 'permission' };

/** Shows the errors of permissions beside their fields, and focuses the first one. @returns whether the form has all of them */
function showPermissionErrors(form, { message }) {
  // One line for each invalid permission: `rate: expected …`, or `…; entry 2 is no address range`.
  const lines = message
    .replaceAll('`', '')
    .split('\n')
    .map((line) => /^(\w+): (.*)$/.exec(line));
  const inputs = lines.map((line) => byId(`${prefixes[form.id]}-${line?.[1]}`));
  if (!inputs.every((input) => input?.form === form)) return false;
  for (const input of inputs)
    for (let at = input.closest('details'); at !== null; at = at.parentElement.closest('details')) at.open = true;
  // The first one last, because each is focused.
  for (const [index, input] of [...inputs.entries()].reverse()) showError(input, errorText(input, lines[index]));
  return true;
}

/** The error in the words of its field, with the invalid entry, which the gateway does not repeat. */
function errorText(input, [, name, text]) {
  const { title } = data.fields.find((each) => each.name === name) ?? { title: name };
  const [, number, noun] = /; entry (\d+) is no (.*)$/.exec(text) ?? [];
  const entry = input.value?.split(',')[number - 1]?.trim();
  if (entry === undefined) return `${title}: ${text}`;
  return `${title}: ${entry === '' ? 'an empty entry' : entry} is no ${noun}`;
}
