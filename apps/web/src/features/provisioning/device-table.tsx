import { type Tone, ToneIcon } from '../../ui/tone.tsx';

export type TableRow = { key: string | number; tone: Tone; state: string; cells: readonly string[] };

/** Scrolls sideways inside itself on a phone, so the first cell and the state of a row come first. */
export function DeviceTable({
  label,
  heads,
  rows,
}: {
  label: string;
  /** Of the first cell, the state, and the other cells. */
  heads: readonly string[];
  rows: readonly TableRow[];
}) {
  return (
    // Reached by keyboard, so that it can be scrolled.
    <div role="region" aria-label={label} tabIndex={0} className="max-h-96 overflow-auto rounded-xl border border-line">
      <table className="w-full text-left text-small">
        <thead className="sticky top-0 bg-sunken">
          <tr>
            {heads.map((head) => (
              <th key={head} scope="col" className="px-3 py-2 font-strong whitespace-nowrap">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody className="divide-y divide-line">
          {rows.map(({ key, cells: [first, ...others], tone, state }) => (
            <tr key={key} className="align-top">
              <th scope="row" className="max-w-32 px-3 py-2 font-plain break-words">
                {first}
              </th>
              <td className="min-w-36 px-3 py-2">
                <span className="flex gap-2">
                  <ToneIcon tone={tone} />
                  {state}
                </span>
              </td>
              {others.map((cell, index) => (
                <td key={heads[index + 2]} className="max-w-48 px-3 py-2 break-words">
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
