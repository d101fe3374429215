/**
 * Puts text into the clipboard. Without TLS, as a station mostly is on its own network, browsers have no clipboard: then the old way, by a
 * selection.
 * @param beside where it may be selected: inside the dialog, when there is one.
 * @returns false when the browser does not allow it.
 */
export async function copyText(text: string, beside: HTMLElement | null): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return beside !== null && copyBySelection(text, beside);
  }
}

function copyBySelection(text: string, beside: HTMLElement): boolean {
  const area = document.createElement('textarea');
  area.value = text;
  area.setAttribute('aria-hidden', 'true');
  area.className = 'sr-only';
  // Inside the dialog: what lies outside of a modal one cannot be selected.
  beside.after(area);
  const focused = document.activeElement;
  area.select();
  const done = document.execCommand('copy');
  area.remove();
  if (focused instanceof HTMLElement) focused.focus();
  return done;
}
