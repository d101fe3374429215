/** A page of a simulator: plain HTML, no script, nothing from another host. */
export const htmlPage = (title: string, content: string): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>
  :root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
  body { max-width: 42rem; margin: 2rem auto; padding: 0 1rem; }
  form { margin: 1rem 0; }
  form p { margin: .25rem 0 0; opacity: .75; }
  .row { display: flex; flex-wrap: wrap; gap: .5rem; }
  .row form { margin: .25rem 0; }
  input { font: inherit; padding: .5rem; width: 100%; box-sizing: border-box; }
  button { font: inherit; padding: .6rem 1rem; min-height: 44px; cursor: pointer; }
  table { border-collapse: collapse; width: 100%; }
  td, th { text-align: left; padding: .25rem .5rem .25rem 0; }
  .off { border-left: 4px solid #c60; padding-left: .75rem; }
</style>
<h1>${escapeHtml(title)}</h1>
${content}
</html>
`;

export const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
