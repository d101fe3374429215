import type { LucideIcon } from 'lucide-react';
import { type KeyboardEvent, type ReactNode, useEffect, useId, useRef, useState } from 'react';

export type MenuItem = { label: string; icon: LucideIcon; onSelect: () => void };

/** How a menu begins that took the place of a button: open, or with the keyboard on its own button. */
export type MenuStart = 'closed' | 'focused' | 'open';

/** A button that opens a few actions, as the ARIA Authoring Practices describe it: arrows move, Escape closes. */
export function Menu({
  label,
  items,
  start = 'closed',
  className,
  children,
}: {
  label: string;
  items: readonly MenuItem[];
  start?: MenuStart;
  /** Of the button. */
  className: string;
  /** What the button shows. */
  children: ReactNode;
}) {
  const id = useId();
  const place = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const [isOpen, setOpen] = useState(start === 'open');
  const [isFocused] = useState(start === 'focused');
  const entries = (): HTMLElement[] => [...(place.current?.querySelectorAll<HTMLElement>('[role=menuitem]') ?? [])];
  useEffect(() => {
    if (!isOpen) return undefined;
    place.current?.querySelector<HTMLElement>('[role=menuitem]')?.focus();
    const onPointer = ({ target }: PointerEvent): void => {
      if (!place.current?.contains(target as Node)) setOpen(false);
    };
    document.addEventListener('pointerdown', onPointer);
    return () => document.removeEventListener('pointerdown', onPointer);
  }, [isOpen]);
  useEffect(() => {
    // Nothing has the keyboard since the other button went.
    if (isFocused && document.activeElement === document.body) button.current?.focus();
  }, [isFocused]);
  /** With the keyboard where it was: a dialog that opens now gives it back to the button. */
  const close = (): void => {
    setOpen(false);
    button.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (!isOpen) return;
    const all = entries();
    const at = all.findIndex((one) => one === document.activeElement);
    const next = placeAfter(event.key, at);
    if (event.key === 'Tab') setOpen(false);
    else if (event.key === 'Escape') close();
    else if (next !== null) {
      event.preventDefault();
      all.at(next % all.length)?.focus();
    }
  };
  return (
    <div ref={place} className="relative" onKeyDown={onKeyDown}>
      <button
        ref={button}
        type="button"
        aria-haspopup="menu"
        aria-expanded={isOpen}
        aria-controls={isOpen ? id : undefined}
        aria-label={label}
        title={label}
        onClick={() => setOpen(!isOpen)}
        className={className}
      >
        {children}
      </button>
      {isOpen && (
        <ul
          id={id}
          role="menu"
          aria-label={label}
          className="absolute top-full right-0 z-20 mt-1 min-w-56 rounded-xl border border-line-strong bg-surface py-1 shadow-lift"
        >
          {items.map(({ label: name, icon: Icon, onSelect }) => (
            <li key={name} role="none">
              <button
                type="button"
                role="menuitem"
                tabIndex={-1}
                onClick={() => {
                  close();
                  onSelect();
                }}
                className="flex min-h-11 w-full items-center gap-3 px-4 text-left text-ink hover:bg-sunken focus:bg-sunken"
              >
                <Icon aria-hidden className="size-5 shrink-0 text-ink-soft" />
                {name}
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** Where a key leads to from an entry, counted from the end below 0; null: nowhere. */
function placeAfter(key: string, at: number): number | null {
  if (key === 'ArrowDown') return at + 1;
  if (key === 'ArrowUp') return at - 1;
  if (key === 'Home') return 0;
  return key === 'End' ? -1 : null;
}
