'use strict';

/** Code that sends one call, by client. Parameters are JSON, which is JavaScript, too. */
const callSnippets = {
  curl: ({ url, method, params }) =>
    `curl -sS ${url} \\\n  -H 'content-type: application/json' \\\n  -d '${body(method, params).replaceAll("'", "'\\''")}'`,
  viem: ({ url, method, params }) =>
    `import { createPublicClient, http } from 'viem';\n\nconst client = createPublicClient({ transport: http('${url}') });\nconst result = await client.request({ method: '${method}', params: ${params} });\nconsole.log(result);`,
  ethers: ({ url, method, params }) =>
    `import { JsonRpcProvider } from 'ethers';\n\nconst provider = new JsonRpcProvider('${url}');\nconst result = await provider.send('${method}', ${params});\nconsole.log(result);`,
};

/** The request, on one line where its parameters are JSON. */
function body(method, params) {
  return `{"jsonrpc":"2.0","id":1,"method":"${method}","params":${params}}`;
}

/** Parameters on one line; a text that is no JSON is returned unchanged. */
function oneLine(params) {
  try {
    return JSON.stringify(JSON.parse(params));
  } catch {
    return params.trim();
  }
}

/** `<base URL>/v3/<key>`, with the key that the reader has entered, if any. */
function callUrl() {
  const key = encodeURIComponent(byId('key').value.trim());
  return `${byId('base').value}/v3/${key === '' ? '<your key>' : key}`;
}

/** Creates a form that sends a call: its parameters, a button, the response, and the same call as code. */
function callForm(method, params) {
  const id = `params-${method}`;
  const input = element('textarea', { id, rows: Math.min(12, text(params).split('\n').length), spellcheck: 'false' });
  input.value = text(params);
  const output = element('pre', {
    class: 'result',
    role: 'status',
    tabindex: '0',
    'aria-label': 'Response',
    hidden: true,
  });
  const click = async () => {
    output.hidden = false;
    output.textContent = '…';
    const startedAt = performance.now();
    const { text: shown, explanation } = await send(method, input.value);
    output.textContent = shown;
    const calls = explanation?.calls ?? [];
    route.replaceChildren(...calls.map((call) => explanationView(call, Math.round(performance.now() - startedAt))));
  };
  const route = element('div', { 'aria-label': 'How the call was served', role: 'group' });
  const code = element('pre', { id: `code-${method}`, role: 'tabpanel', 'aria-label': 'Code', tabindex: '0' });
  const tabs = element('div', { class: 'row', role: 'tablist', 'aria-label': 'Programs' });
  const showCode = fillTabs(tabs, code, Object.keys(callSnippets), (name) => {
    code.textContent = callSnippets[name]({ url: callUrl(), method, params: oneLine(input.value) });
  });
  for (const source of [input, byId('key'), byId('base')]) source.addEventListener('input', showCode);
  return [
    element('h3', {}, 'Try it'),
    element('label', { for: id }, 'Parameters, as JSON'),
    input,
    element('button', { type: 'button', class: 'main', click }, 'Send'),
    output,
    route,
    element('h3', {}, 'As code'),
    tabs,
    code,
    copyButton(() => code.textContent, 'Copy code'),
  ];
}

/**
 * Sends a call with the entered key, to the gateway only. The response to a key with the capability `explain` has an
 * explanation. @returns the response, or why there is none
 */
async function send(method, params) {
  const key = byId('key');
  const isMissing = key.value.trim() === '';
  showKeyError(isMissing ? 'Enter your key first.' : '');
  if (isMissing) {
    key.focus();
    return { text: 'Enter your key first, at the top of this page.' };
  }
  try {
    const request = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: JSON.parse(params) });
    const headers = { 'content-type': 'application/json', 'x-gatehouse-explain': '1' };
    const response = await fetch(callUrl(), { method: 'POST', headers, body: request, referrerPolicy: 'no-referrer' });
    const explanation = response.headers.get('x-gatehouse-explain');
    return {
      text: text(await response.json()),
      explanation: explanation === null ? undefined : JSON.parse(explanation),
    };
  } catch (error) {
    return { text: `The request failed: ${error.message}` };
  }
}

function showKeyError(error) {
  const key = byId('key');
  byId('key-error').textContent = error;
  if (error === '') key.removeAttribute('aria-invalid');
  else key.setAttribute('aria-invalid', 'true');
  key.setAttribute('aria-describedby', error === '' ? 'key-hint' : 'key-error key-hint');
}

function text(value) {
  return JSON.stringify(value, undefined, 2);
}
