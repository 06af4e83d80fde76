'use strict';

const { fields } = JSON.parse(byId('data').textContent);

/** Creates a labelled input for each permission and limit, with its hint and a place for its error. */
function permissionInputs(prefix) {
  return fields.map(({ name, title, meaning }) => {
    const id = `${prefix}-${name}`;
    const text = meaning.replaceAll('`', '');
    const start = `${title.toLowerCase()}: `;
    const hint = text.startsWith(start) ? text.slice(start.length) : text;
    return element(
      'div',
      {},
      element('label', { for: id }, title),
      element('input', {
        id,
        class: 'code',
        autocomplete: 'off',
        spellcheck: 'false',
        'aria-describedby': `${id}-hint`,
      }),
      element('p', { id: `${id}-hint`, class: 'hint' }, hint),
      element('p', { id: `${id}-error`, class: 'error' }),
    );
  });
}

function fillPermissions(prefix, permissions) {
  for (const { name } of fields) {
    const input = byId(`${prefix}-${name}`);
    input.value = input.defaultValue = permissions[name] ?? '';
  }
}

/** Values that were edited: others may be changed elsewhere meanwhile. An empty input removes its permission. */
function editedPermissions(prefix) {
  const inputs = fields.map(({ name }) => [name, byId(`${prefix}-${name}`)]);
  const changed = inputs.filter(([, input]) => input.value.trim() !== input.defaultValue);
  return Object.fromEntries(changed.map(([name, { value }]) => [name, value.trim() === '' ? null : value.trim()]));
}

/** Prefix of the inputs of each form for permissions. */
const prefixes = { create: 'new', permissions: 'permission' };

/** Shows an error beside its fields, and focuses the first one. @returns whether the form has all of them */
function showErrors(form, { field, message }) {
  const isOfForm = (input) => input !== null && input.form === form;
  if (form.id === 'login') return showError(byId('token'), message);
  if (!field?.startsWith('rules')) {
    const input = byId(field ?? '');
    return isOfForm(input) && showError(input, message.replace(`${field}: `, ''));
  }
  // One line for each invalid permission: `rate: expected …`.
  const lines = message
    .replaceAll('`', '')
    .split('\n')
    .map((line) => /^(\w+): (.*)$/.exec(line));
  const inputs = lines.map((line) => byId(`${prefixes[form.id]}-${line?.[1]}`));
  if (!inputs.every(isOfForm)) return false;
  const details = inputs[0].closest('details');
  if (details !== null) details.open = true;
  // The first one last, because each is focused.
  for (const [index, input] of [...inputs.entries()].reverse()) showError(input, lines[index][2]);
  return true;
}

function showError(input, text) {
  byId(`${input.id}-error`).textContent = text;
  input.setAttribute('aria-invalid', 'true');
  describe(input, 'error', 'hint');
  input.focus();
  return true;
}

function clearErrors(form) {
  for (const input of form.querySelectorAll('[aria-invalid]')) {
    input.removeAttribute('aria-invalid');
    describe(input, 'hint');
    byId(`${input.id}-error`).textContent = '';
  }
}

/** Links an input to those of its texts that exist. */
function describe(input, ...kinds) {
  const ids = kinds.map((kind) => `${input.id}-${kind}`).filter((id) => byId(id) !== null);
  if (ids.length === 0) input.removeAttribute('aria-describedby');
  else input.setAttribute('aria-describedby', ids.join(' '));
}
