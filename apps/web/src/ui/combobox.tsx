import { ChevronsUpDown } from 'lucide-react';
import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { classNames } from './class-names.ts';
import { type ComboGroup, type ComboOption, findOptions } from './find-options.ts';

/**
 * One of many, found by typing: a combobox with a list, as the ARIA Authoring Practices describe it. The keyboard stays in the field; arrows
 * move through the list, Enter takes, Escape leaves everything as it was.
 */
export function Combobox({
  label,
  value,
  shown,
  groups,
  onChange,
  className,
}: {
  /** For screen readers. */
  label: string;
  value: string;
  /** What stands in the field while nothing is typed. */
  shown: string;
  groups: readonly ComboGroup[];
  onChange: (value: string) => void;
  className?: string;
}) {
  const { t } = useTranslation();
  const id = useId();
  const list = useRef<HTMLUListElement>(null);
  const [isOpen, setOpen] = useState(false);
  const [typed, setTyped] = useState<string | null>(null);
  const [active, setActive] = useState(0);
  const { found, options, isCut } = findOptions(groups, typed ?? '');
  const close = (): void => {
    setOpen(false);
    setTyped(null);
  };
  const open = (): void => {
    if (isOpen) return;
    setOpen(true);
    setActive(
      Math.max(
        0,
        findOptions(groups, '').options.findIndex((one) => one.value === value),
      ),
    );
  };
  const choose = (option: ComboOption): void => {
    close();
    onChange(option.value);
  };
  useEffect(() => {
    if (isOpen) list.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' });
  }, [isOpen, active, typed]);
  const onKeyDown = (event: KeyboardEvent<HTMLInputElement>): void => {
    const option = options[active];
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      const by = event.key === 'ArrowDown' ? 1 : -1;
      if (!isOpen) open();
      else if (options.length > 0) setActive((active + by + options.length) % options.length);
    } else if (event.key === 'Enter') {
      // It must not send the form.
      event.preventDefault();
      if (!isOpen) open();
      else if (option) choose(option);
    } else if (event.key === 'Escape' && isOpen) {
      event.preventDefault();
      event.stopPropagation();
      close();
    }
  };
  return (
    <div className={classNames('relative min-w-0', className)}>
      <input
        role="combobox"
        aria-label={label}
        aria-expanded={isOpen}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={isOpen && options.length > 0 ? `${id}-${active}` : undefined}
        autoComplete="off"
        spellCheck={false}
        value={typed ?? shown}
        placeholder={shown}
        onFocus={({ target }) => target.select()}
        onClick={open}
        onBlur={close}
        onKeyDown={onKeyDown}
        onChange={({ target }) => {
          setOpen(true);
          setTyped(target.value);
          setActive(0);
        }}
        className="block min-h-11 w-full truncate rounded-xl border border-line-strong bg-surface py-2 pr-9 pl-3 text-ink"
      />
      <ChevronsUpDown aria-hidden className="pointer-events-none absolute top-3.5 right-3 size-4 text-ink-soft" />
      {isOpen && (
        <ul
          ref={list}
          id={`${id}-list`}
          role="listbox"
          aria-label={label}
          // The field keeps the keyboard while a finger or a mouse is in the list.
          onMouseDown={(event) => event.preventDefault()}
          className="absolute inset-x-0 z-20 mt-1 max-h-72 min-w-56 overflow-y-auto rounded-xl border border-line-strong bg-surface py-1 shadow-lift"
        >
          {found.map((group) => (
            <li key={group.label} role="group" aria-label={group.label}>
              <p aria-hidden className="px-3 pt-2 pb-1 text-small text-ink-soft">
                {group.label}
              </p>
              <ul role="none">
                {group.options.map(({ option, place }) => (
                  <li
                    key={option.value}
                    id={`${id}-${place}`}
                    role="option"
                    aria-selected={place === active}
                    onClick={() => choose(option)}
                    className={classNames(
                      'flex min-h-11 cursor-pointer items-center justify-between gap-3 px-3 py-1 hover:bg-sunken',
                      place === active && 'bg-accent-soft',
                    )}
                  >
                    <span className={classNames('min-w-0 break-words', option.value === value && 'font-strong')}>
                      {option.label}
                    </span>
                    {option.hint !== undefined && (
                      <span className="max-w-1/2 shrink-0 truncate text-small text-ink-soft">{option.hint}</span>
                    )}
                  </li>
                ))}
              </ul>
            </li>
          ))}
          {options.length === 0 && (
            <li role="presentation" className="px-3 py-2 text-ink-soft">
              {t('automations.picker.none')}
            </li>
          )}
          {isCut && (
            <li role="presentation" className="px-3 py-2 text-small text-ink-soft">
              {t('automations.picker.more')}
            </li>
          )}
        </ul>
      )}
      <p role="status" className="sr-only">
        {isOpen && typed !== null && t('automations.picker.found', { count: options.length })}
      </p>
    </div>
  );
}
