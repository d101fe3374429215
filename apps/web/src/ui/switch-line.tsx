import { Switch } from './fields.tsx';

/** A switch with its label at the start of the line. */
export function SwitchLine({
  label,
  on,
  onToggle,
  busy = false,
  disabled = false,
}: {
  label: string;
  on: boolean;
  onToggle: (on: boolean) => void;
  busy?: boolean;
  disabled?: boolean;
}) {
  return (
    <div className="flex items-center justify-between gap-4">
      <span aria-hidden className="min-w-0 font-strong">
        {label}
      </span>
      <Switch label={label} on={on} busy={busy} disabled={disabled} onToggle={onToggle} />
    </div>
  );
}
